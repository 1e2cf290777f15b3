/** What takes the place of the draft: examples, projects and archives, and how the draft is saved as an archive. */
import { DATA_PATH, SOURCE_PATH } from "../document/saved-draft.ts";
import { type Draft, draftFileStem } from "./drafts/draft.ts";
import type { DraftKeeper } from "./drafts/draft-keeper.ts";
import type { DraftStore } from "./drafts/draft-store.ts";
import { connectDraftsDialog } from "./drafts/drafts-dialog.ts";
import { draftOfExample, fetchExample } from "./drafts/examples.ts";
import { draftOfFolder, folderOfDraft } from "./drafts/project-folder.ts";
import type { ReadFiles } from "./files/dropped-files.ts";
import { mergeFiles } from "./files/files-panel.ts";
import { archiveOf } from "./files/folder-archive.ts";
import { byId, makeButton, saveFile } from "./page/elements.ts";
import type { Notice } from "./page/notice.ts";
import type { Tabs } from "./page/tabs.ts";

/** Inserted by the bundler, so that the buttons do not wait for the examples themselves. */
declare const EXAMPLE_TITLES: readonly { readonly name: string; readonly title: string }[];

export const COPY_NOTICE =
  "This draft is open in another tab, so this tab works on a copy. Neither overwrites the other; both are under “Drafts”.";

export interface DraftBarParts {
  readonly store: DraftStore;
  readonly keeper: DraftKeeper;
  readonly tabs: Tabs;
  readonly notice: Notice;
  readonly onExample: () => void;
}

/** Connects the drafts' bar. Returns what loads a folder with a template, or single files with one. */
export function connectDraftBar({ store, keeper, tabs, notice, onExample }: DraftBarParts): (read: ReadFiles) => void {
  const begin = async (draft: Draft, text: string, isEdited: boolean) => {
    // Not afterwards: by then somebody may have chosen another tab.
    tabs.show("source-panel");
    const undo = await keeper.begin(draft, { isEdited });
    notice(text, () => void undo());
  };
  const openExample = async (name: string, title: string) => {
    const example = await fetchExample(name).catch(() => null);
    if (example === null) notice("The example cannot be loaded. Check the connection, then try again.");
    else {
      await begin(draftOfExample(example), `Example loaded: ${title}.`, false);
      onExample();
    }
  };
  connectDraftsDialog(keeper, (isCopy) => {
    notice(isCopy ? COPY_NOTICE : "Draft opened.");
    tabs.show("source-panel");
  });
  byId("archive-save", HTMLButtonElement).addEventListener("click", () => {
    const folder = folderOfDraft(store.draft);
    if (typeof folder === "string") notice(folder);
    else saveFile(archiveOf(folder), "application/zip", `${draftFileStem(store.draft)}.zip`);
  });
  byId("examples", HTMLElement).append(
    ...EXAMPLE_TITLES.map(({ name, title }) =>
      makeButton(title, { class: "menu-item medium", popovertarget: "examples" }, () => openExample(name, title)),
    ),
  );
  return ({ isFolder, files, skipped }) => {
    const project = draftOfFolder(files);
    if (project === null) return;
    const others = files.filter(({ path }) => path !== SOURCE_PATH && path !== DATA_PATH);
    const hasData = files.some(({ path }) => path === DATA_PATH);
    const merged: Draft = {
      ...store.draft,
      source: project.source,
      files: mergeFiles(store.draft.files, others),
      ...(hasData && { data: project.data }),
    };
    const text = [isFolder ? "Project loaded." : `${SOURCE_PATH} is now the template.`, ...skipped].join(" ");
    void begin(isFolder ? project : merged, text, true);
  };
}
