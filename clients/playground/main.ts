/** The playground: puts the parts of the page together. */
import { DEFAULT_LIMITS, type Limits } from "../../rules/limits.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import { type Finding, findingsOf, type ProblemReport, type Verdict, validateDraft } from "./checks/findings.ts";
import { fontWarnings } from "./checks/font-warnings.ts";
import { dataRange, markFindings, type RequestFields } from "./checks/request-findings.ts";
import { SchemaCheck, schemaOf, withSchemaVerdict } from "./checks/schema-check.ts";
import type { Draft } from "./drafts/draft.ts";
import { DraftKeeper, type KeepState } from "./drafts/draft-keeper.ts";
import { DraftStore } from "./drafts/draft-store.ts";
import { connectDraftsDialog } from "./drafts/drafts-dialog.ts";
import { draftOfExample, fetchExample } from "./drafts/examples.ts";
import { FIRST_DRAFT } from "./drafts/first-draft.ts";
import { DATA_PATH, draftOfFolder, folderOfDraft, SOURCE_PATH } from "./drafts/project-folder.ts";
import { createCodeEditor } from "./editor/code-editor.ts";
import { completionsFor } from "./editor/completions.ts";
import { jsonLanguage } from "./editor/languages.ts";
import { schemaCompletions } from "./editor/schema-completions.ts";
import { typstLanguage } from "./editor/typst-language.ts";
import { chosenFiles, type ReadFiles } from "./files/dropped-files.ts";
import { connectFileTabs } from "./files/file-tabs.ts";
import { connectFilesPanel, mergedFiles } from "./files/files-panel.ts";
import { archiveOf } from "./files/folder-archive.ts";
import { connectOutputPanel } from "./output/output-panel.ts";
import { readStored, writeStored } from "./page/browser-storage.ts";
import { byId, makeButton, saveFile } from "./page/elements.ts";
import { Notice } from "./page/notice.ts";
import { connectTabs } from "./page/tabs.ts";
import { connectToken, readToken } from "./render/api-token.ts";
import { connectCurlDialog } from "./render/curl-dialog.ts";
import { type RenderCause, RenderSession, type SettledOutcome } from "./render/render-session.ts";
import { fetchLimits } from "./render/service-call.ts";
import { loadPdfViewer } from "./result/document-view.ts";
import { ResultView } from "./result/result-view.ts";

/**
 * The names and titles of the examples. The bundler inserts them, so that the buttons do not wait for the examples
 * themselves.
 */
declare const EXAMPLE_TITLES: readonly { readonly name: string; readonly title: string }[];

/** Validation waits for a pause in typing. */
const VALIDATION_DELAY_MILLISECONDS = 150;
/** A download reads its object URL after the click. */
const DOWNLOAD_MILLISECONDS = 60_000;
const COPY_NOTICE =
  "This draft is open in another tab, so this tab works on a copy. Neither overwrites the other; both are under “Drafts”.";
/** Whether typing renders, in the browser's local storage. */
const RENDERS_WHILE_TYPING_KEY = "render-while-typing";

let limits: Limits = DEFAULT_LIMITS;
let pendingValidation: ReturnType<typeof setTimeout> | undefined;
/** The last draft that was rendered. */
let renderedDraft: Draft | null = null;

// Loaded while people write. The first render uses it, or waits until it is complete.
const viewerLoaded = loadPdfViewer().then(
  () => {},
  () => {},
);
const store = new DraftStore(FIRST_DRAFT);
const keeper = new DraftKeeper(store, showKeepState);
const restored = await keeper.start();

const tabs = connectTabs(byId("tabs", HTMLElement));
const notice = new Notice(byId("notice", HTMLElement));
const source = createCodeEditor(byId("source-editor", HTMLElement), {
  label: "Template (Typst)",
  language: typstLanguage,
  completions: completionsFor(
    () => store.draft,
    () => SOURCE_PATH,
  ),
  onChange: (text) => store.edit({ source: text }),
});
const data = createCodeEditor(byId("data-editor", HTMLElement), {
  label: "Data (JSON)",
  language: jsonLanguage,
  completions: [schemaCompletions(() => schemaOf(store.draft))],
  onChange: (text) => store.edit({ data: text }),
});
const openFile = connectFileTabs(store, tabs, byId("editor-card", HTMLElement));
const files = connectFilesPanel({ store, limits: () => limits, onOpen: openFile, onProject: loadProject });
const output = connectOutputPanel(store);
const fields: RequestFields = { source, data, files, output };
const result = new ResultView(goTo);
const token = connectToken(() => void updateLimits());
const renderButton = byId("render", HTMLButtonElement);
const schemaCheck = new SchemaCheck(onSchemaVerdict);
/** The cause of a render that waits until the data has been judged by its schema. */
let awaitedRender: RenderCause | null = null;
const session = new RenderSession({ draft: () => store.draft, prepare, onProgress, onOutcome });

store.onChange((change) => {
  if (change === "replace") {
    showTexts();
    result.forgetProblem();
  }
  scheduleValidation();
  result.markOutdated();
  session.draftChanged();
});
renderButton.addEventListener("click", () => session.request("asked"));
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  session.request("asked");
});
connectRenderWhileTyping();
connectArchive();
connectDraftsDialog(keeper, (isCopy) => {
  notice.say(isCopy ? COPY_NOTICE : "Draft opened.");
  tabs.show("source-panel");
});
connectCurlDialog(() => {
  if (validate().ok) return store.draft;
  session.request("asked");
  return null;
});
showExamples();
showTexts();
validate();
result.showNothing();
if (restored === "copy") notice.say(COPY_NOTICE);
// On a slow line, the viewer for the first render is loaded before the limits, which can wait.
void viewerLoaded.then(updateLimits);

function showTexts(): void {
  source.replace(store.draft.source);
  data.replace(store.draft.data);
}

function scheduleValidation(): void {
  clearTimeout(pendingValidation);
  pendingValidation = setTimeout(() => {
    validate();
    sendAwaitedRender();
  }, VALIDATION_DELAY_MILLISECONDS);
}

function validate(): Verdict {
  clearTimeout(pendingValidation);
  const verdict = withSchemaVerdict(validateDraft(store.draft, limits), schemaCheck.verdictOn(store.draft));
  const findings = verdict.ok ? [] : verdict.findings;
  markFindings(fields, findings);
  const unplaced = !verdict.ok && findings.length === 0 ? (verdict.problem?.detail ?? "") : "";
  const count = findings.length;
  const state = byId("validation", HTMLElement);
  state.dataset.state = verdict.ok ? "valid" : "invalid";
  const text = verdict.ok ? "Valid request" : unplaced || `${count} problem${count === 1 ? "" : "s"}`;
  if (state.textContent !== text) state.textContent = text;
  return verdict;
}

/** Moves the focus to the field of a finding. */
function goTo(finding: Finding): void {
  const { place } = finding;
  switch (place.field) {
    case "source":
      tabs.show("source-panel");
      source.focus();
      break;
    case "data": {
      tabs.show("data-panel");
      const range = dataRange(data, finding);
      if (range === null) data.focus();
      else data.goTo(range.from);
      break;
    }
    case "files":
      tabs.show("files-panel");
      files.focus();
      break;
    default:
      output.focus(place.field);
  }
}

function prepare(cause: RenderCause) {
  const verdict = validate();
  const isAsked = cause === "asked";
  if (!verdict.ok) {
    if (!isAsked) return null;
    const { problem, findings } = verdict;
    showProblem(problem ?? { code: "invalid_request", detail: "The data is not JSON.", context: {} }, findings);
    const [first] = findings;
    if (first !== undefined) goTo(first);
    return null;
  }
  if (readToken() === "") {
    if (isAsked) token.open();
    return null;
  }
  if (schemaCheck.verdictOn(store.draft) === null) {
    awaitedRender = awaitedRender === "asked" ? "asked" : cause;
    if (isAsked) onProgress({ phase: "rendering" });
    return null;
  }
  if (isAsked) result.scrollIntoView();
  return { draft: store.draft, token: readToken() };
}

function onSchemaVerdict(): void {
  validate();
  sendAwaitedRender();
}

function sendAwaitedRender(): void {
  if (schemaCheck.verdictOn(store.draft) === null) return;
  const cause = awaitedRender;
  awaitedRender = null;
  if (cause !== null) session.request(cause);
}

function onProgress(progress: Parameters<ResultView["showProgress"]>[0]): void {
  result.showProgress(progress, () => {
    awaitedRender = null;
    session.cancel();
  });
}

function onOutcome(outcome: SettledOutcome, draft: Draft, elapsedSeconds: number): void {
  switch (outcome.kind) {
    case "document":
      void result.showDocument(outcome.document, elapsedSeconds);
      void warnOfFonts(draft);
      if (draft !== store.draft) result.markOutdated();
      break;
    case "problem": {
      const findings = findingsOf(
        outcome.problem,
        draft.files.map(({ key }) => key),
      );
      if (findings.length > 0) markFindings(fields, findings);
      if (outcome.problem.code === "forbidden") token.show("rejected");
      result.showProblem({ ...outcome.problem, findings });
      break;
    }
    case "cancelled":
      result.showMessage("Cancelled", "The page no longer waits for this render.");
      renderButton.focus();
      break;
    case "unreachable":
      if (outcome.reason === "offline") {
        result.showMessage("You are offline", "The page renders again when the connection is back.");
      } else {
        result.showMessage("The service cannot be reached", "Check the connection, then render again.");
      }
      break;
    case "unexpected":
      result.showMessage(
        "Something else answered",
        `${outcome.message} Ask the operator what is in front of the service.`,
      );
      break;
    case "not sent":
      result.showMessage("Not rendered", "The page no longer waits for the service.");
  }
}

async function warnOfFonts(draft: Draft): Promise<void> {
  renderedDraft = draft;
  const warnings = await fontWarnings(draft);
  // Another draft may have been rendered meanwhile.
  if (renderedDraft === draft) result.showWarnings(warnings);
}

function showProblem(problem: ProblemReport, findings: readonly Finding[]): void {
  const title = Object.entries(PROBLEMS).find(([code]) => code === problem.code)?.[1].title ?? problem.code;
  result.showProblem({ code: problem.code, detail: problem.detail, title, requestId: null, findings });
}

/** Fetches the limits of this deployment, once there is a token, and validates by them. */
async function updateLimits(): Promise<void> {
  const used = readToken();
  if (used === "" || !navigator.onLine) return;
  const outcome = await fetchLimits(used);
  // Another token may have been entered meanwhile.
  if (readToken() !== used) return;
  token.show(outcome.kind === "forbidden" ? "rejected" : "set");
  if (outcome.kind !== "limits") return;
  ({ limits } = outcome);
  validate();
}

/** Shows another draft. The previous one stays among the kept drafts if it was edited, and "Undo" brings it back. */
async function begin(draft: Draft, text: string, { isEdited }: { readonly isEdited: boolean }): Promise<void> {
  // Not afterwards: by then somebody may have chosen another tab.
  tabs.show("source-panel");
  const undo = await keeper.begin(draft, { isEdited });
  notice.say(text, () => void undo());
}

/** Loads a folder with a template as a new draft. Single files are added to the files of the current draft instead. */
function loadProject({ isFolder, files: added, skipped }: ReadFiles): void {
  const project = draftOfFolder(added);
  if (project === null) return;
  const { draft } = store;
  const hasData = added.some(({ path }) => path === DATA_PATH);
  const others = added.filter(({ path }) => path !== SOURCE_PATH && path !== DATA_PATH);
  const merged: Draft = {
    source: project.source,
    data: hasData ? project.data : draft.data,
    files: mergedFiles(draft.files, others),
    output: draft.output,
  };
  const text = [isFolder ? "Project loaded." : `${SOURCE_PATH} is now the template.`, ...skipped].join(" ");
  void begin(isFolder ? project : merged, text, { isEdited: true });
}

function showExamples(): void {
  const list = byId("examples", HTMLElement);
  list.append(
    ...EXAMPLE_TITLES.map(({ name, title }) =>
      makeButton(title, { class: "chip" }, async () => {
        const example = await fetchExample(name).catch(() => null);
        if (example === null) notice.say("The example cannot be loaded. Check the connection, then try again.");
        else await begin(draftOfExample(example), `Example loaded: ${title}.`, { isEdited: false });
      }),
    ),
  );
}

function connectArchive(): void {
  byId("archive-save", HTMLButtonElement).addEventListener("click", () => {
    const folder = folderOfDraft(store.draft);
    if (typeof folder === "string") {
      notice.say(folder);
      return;
    }
    const url = URL.createObjectURL(new Blob([archiveOf(folder)], { type: "application/zip" }));
    saveFile(url, "draft.zip");
    setTimeout(() => URL.revokeObjectURL(url), DOWNLOAD_MILLISECONDS);
  });
  const picker = byId("archive-input", HTMLInputElement);
  byId("archive-open", HTMLButtonElement).addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    tabs.show("files-panel");
    void files.add(chosenFiles(picker.files ?? []));
    picker.value = "";
  });
}

function connectRenderWhileTyping(): void {
  const box = byId("render-while-typing", HTMLInputElement);
  box.checked = readStored("local", RENDERS_WHILE_TYPING_KEY) === "on";
  session.rendersWhileTyping = box.checked;
  box.addEventListener("change", () => {
    writeStored("local", RENDERS_WHILE_TYPING_KEY, box.checked ? "on" : "off");
    session.rendersWhileTyping = box.checked;
  });
}

function showKeepState(state: KeepState): void {
  const element = byId("keep-state", HTMLElement);
  element.dataset.state = state.kind;
  element.textContent = {
    "nothing to keep": "",
    saving: "Saving…",
    kept: "Draft kept in this browser",
    "not kept": state.kind === "not kept" ? state.reason : "",
  }[state.kind];
}
