/** What takes the place of the draft: examples, projects and archives, and how the draft is saved as an archive. */
import { type Draft, draftFileStem } from "./drafts/draft.ts";
import type { DraftKeeper } from "./drafts/draft-keeper.ts";
import type { DraftStore } from "./drafts/draft-store.ts";
import { connectDraftsDialog } from "./drafts/drafts-dialog.ts";
import { draftOfExample, fetchExample } from "./drafts/examples.ts";
import { DATA_PATH, draftOfFolder, folderOfDraft, SOURCE_PATH } from "./drafts/project-folder.ts";
import { listChosenFiles, type ReadFiles } from "./files/dropped-files.ts";
import { type FilesPanel, mergeFiles } from "./files/files-panel.ts";
import { archiveOf } from "./files/folder-archive.ts";
import { byId, makeButton, saveFile } from "./page/elements.ts";
import { connectMenu } from "./page/menu.ts";
import type { Notice } from "./page/notice.ts";
import type { Tabs } from "./page/tabs.ts";

/** Inserted by the bundler, so that the buttons do not wait for the examples themselves. */
declare const EXAMPLE_TITLES: readonly { readonly name: string; readonly title: string }[];

export const COPY_NOTICE =
  "This draft is open in another tab, so this tab works on a copy. Neither overwrites the other; both are under “Drafts”.";

export class DraftOpener {
  readonly #store: DraftStore;
  readonly #keeper: DraftKeeper;
  readonly #tabs: Tabs;
  readonly #notice: Notice;

  constructor(store: DraftStore, keeper: DraftKeeper, tabs: Tabs, notice: Notice) {
    this.#store = store;
    this.#keeper = keeper;
    this.#tabs = tabs;
    this.#notice = notice;
    connectDraftsDialog(keeper, (isCopy) => {
      notice.say(isCopy ? COPY_NOTICE : "Draft opened.");
      tabs.show("source-panel");
    });
    byId("archive-save", HTMLButtonElement).addEventListener("click", () => this.#saveArchive());
    connectMenu(byId("examples-menu", HTMLDetailsElement));
    byId("examples", HTMLElement).append(
      ...EXAMPLE_TITLES.map(({ name, title }) =>
        makeButton(title, { class: "menu-item" }, () => this.#openExample(name, title)),
      ),
    );
  }

  /** Loads a folder with a template as a new draft. Single files are added to the files of the current draft instead. */
  openProject({ isFolder, files: added, skipped }: ReadFiles): void {
    const project = draftOfFolder(added);
    if (project === null) return;
    const { draft } = this.#store;
    const hasData = added.some(({ path }) => path === DATA_PATH);
    const others = added.filter(({ path }) => path !== SOURCE_PATH && path !== DATA_PATH);
    const merged: Draft = {
      source: project.source,
      data: hasData ? project.data : draft.data,
      files: mergeFiles(draft.files, others),
      output: draft.output,
    };
    const text = [isFolder ? "Project loaded." : `${SOURCE_PATH} is now the template.`, ...skipped].join(" ");
    void this.#begin(isFolder ? project : merged, text, { isEdited: true });
  }

  /** Connects the button that opens an archive, which is read as the files panel reads all files. */
  connectArchivePicker(files: FilesPanel): void {
    const picker = byId("archive-input", HTMLInputElement);
    byId("archive-open", HTMLButtonElement).addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      this.#tabs.show("files-panel");
      void files.add(listChosenFiles(picker.files ?? []));
      picker.value = "";
    });
  }

  /** Shows another draft. The previous one stays among the kept drafts if it was edited, and "Undo" brings it back. */
  async #begin(draft: Draft, text: string, { isEdited }: { readonly isEdited: boolean }): Promise<void> {
    // Not afterwards: by then somebody may have chosen another tab.
    this.#tabs.show("source-panel");
    const undo = await this.#keeper.begin(draft, { isEdited });
    this.#notice.say(text, () => void undo());
  }

  async #openExample(name: string, title: string): Promise<void> {
    const example = await fetchExample(name).catch(() => null);
    if (example === null) this.#notice.say("The example cannot be loaded. Check the connection, then try again.");
    else await this.#begin(draftOfExample(example), `Example loaded: ${title}.`, { isEdited: false });
  }

  #saveArchive(): void {
    const folder = folderOfDraft(this.#store.draft);
    if (typeof folder === "string") this.#notice.say(folder);
    else saveFile(archiveOf(folder), "application/zip", `${draftFileStem(this.#store.draft)}.zip`);
  }
}
