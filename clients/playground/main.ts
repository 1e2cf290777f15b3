/** The playground: puts the parts of the page together. */
import { SOURCE_PATH } from "../document/saved-draft.ts";
import { CompilerCheck } from "./checks/compiler/compiler-check.ts";
import { RequestCheck } from "./checks/request-check.ts";
import type { RequestFields } from "./checks/request-findings.ts";
import { TemplateCheck } from "./checks/template-check.ts";
import { unusableFiles } from "./checks/unusable-files.ts";
import { DraftKeeper } from "./drafts/draft-keeper.ts";
import { DraftStore, FIRST_DRAFT } from "./drafts/draft-store.ts";
import { showKeepState } from "./drafts/drafts-dialog.ts";
import { CodeEditor } from "./editor/code-editor.ts";
import { completionsFor } from "./editor/completions.ts";
import { jsonLanguage } from "./editor/languages.ts";
import { pastedCells } from "./editor/pasted-cells.ts";
import { beginColouring, typstLanguage } from "./editor/typst-language.ts";
import { FileTabs } from "./files/file-tabs.ts";
import { FilesPanel } from "./files/files-panel.ts";
import { COPY_NOTICE, connectDraftBar } from "./open-drafts.ts";
import { OutputPanel } from "./output/output-panel.ts";
import { byId } from "./page/elements.ts";
import { connectNotice } from "./page/notice.ts";
import { connectTabs } from "./page/tabs.ts";
import { connectToken, readToken } from "./render/api-token.ts";
import { connectCurlDialog } from "./render/curl-dialog.ts";
import { fetchLimits } from "./render/service-call.ts";
import { DraftRenderer } from "./render-draft.ts";
import { loadPdfViewer } from "./result/document-view.ts";
import { ResultView } from "./result/result-view.ts";

// Loaded while people write. The first render uses it, or waits until it is complete.
const viewerLoaded = loadPdfViewer().then(
  () => {},
  () => {},
);
beginColouring(viewerLoaded);
const store = new DraftStore(FIRST_DRAFT);
const keeper = new DraftKeeper(store, showKeepState);
const restored = await keeper.start();

const tabs = connectTabs(byId("tabs", HTMLElement));
const notice = connectNotice("notice");
const source = new CodeEditor(byId("source-editor", HTMLElement), {
  label: "Template (Typst)",
  language: typstLanguage,
  completions: completionsFor(
    () => store.draft,
    () => SOURCE_PATH,
  ),
  onChange: (text) => store.edit({ source: text }),
});
const data = new CodeEditor(byId("data-editor", HTMLElement), {
  label: "Data (JSON)",
  language: [jsonLanguage, pastedCells],
  onChange: (text) => store.edit({ data: text }),
});
const fileTabs = new FileTabs(store, tabs, byId("editor-card", HTMLElement));
const files = new FilesPanel({
  store,
  tabs,
  limits: () => check.limits,
  onOpen: (file) => fileTabs.open(file),
  onProject: connectDraftBar({ store, keeper, tabs, notice, onExample: () => renderer.renderUnasked() }),
});
const output = new OutputPanel(store);

store.onChange((change) => {
  if (change === "replace") showTexts();
});
const fields: RequestFields = { tabs, source, data, files, fileTabs, output };
const compilerCheck = new CompilerCheck(store, () => void check.run());
const templateCheck = new TemplateCheck(viewerLoaded, () => void check.run());
const check = new RequestCheck(
  store,
  fields,
  [unusableFiles, (draft) => templateCheck.hintsOn(draft), (draft) => compilerCheck.findingsOn(draft)],
  () => renderer.continueAfterCheck(),
);
const result = new ResultView((finding) => check.goTo(finding));
const token = connectToken(() => void updateLimits());
const renderer = new DraftRenderer({ store, check, compilerCheck, token, result });
connectCurlDialog(() => {
  if (check.run().ok) return store.draft;
  renderer.render();
  return null;
});
showTexts();
check.run();
result.showNothing();
if (restored === "copy") notice(COPY_NOTICE);
// On a slow line, the viewer for the first render is loaded before the limits, which can wait.
void viewerLoaded.then(updateLimits);

function showTexts(): void {
  source.replace(store.draft.source);
  data.replace(store.draft.data);
}

async function updateLimits(): Promise<void> {
  const used = readToken();
  if (used === "" || !navigator.onLine) return;
  const limits = await fetchLimits(used);
  // Another token may have been entered meanwhile.
  if (readToken() !== used) return;
  token.show(limits === "forbidden" ? "rejected" : "set");
  if (limits === null || limits === "forbidden") return;
  check.limits = limits;
  check.run();
}
