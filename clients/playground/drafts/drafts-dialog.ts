/** The drafts that this browser keeps, in a dialog; and beside the draft, whether it is one of them. */
import { countInWords } from "../../document/size-in-words.ts";
import { byId, make, makeButton } from "../page/elements.ts";
import type { DraftKeeper, KeepState, ListedDraft } from "./draft-keeper.ts";

const DATES = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function connectDraftsDialog(keeper: DraftKeeper, onOpened: (isCopy: boolean) => void): void {
  const dialog = byId("drafts-dialog", HTMLDialogElement);

  const show = async () => {
    const drafts = await keeper.list();
    byId("drafts-none", HTMLElement).hidden = drafts.length > 0;
    byId("drafts-list", HTMLUListElement).replaceChildren(...drafts.map(makeRow));
  };

  const makeRow = ({ id, title, fileCount, savedAt, openIn }: ListedDraft) => {
    const files = fileCount === 0 ? "" : ` · ${countInWords(fileCount, "file")}`;
    const open = makeButton(title, { class: "link-button" }, async () => {
      const opened = await keeper.open(id);
      dialog.close();
      if (opened !== "nothing") onOpened(opened === "copy");
    });
    const remove = makeButton("Delete", { class: "link-button", "aria-label": `Delete ${title}` }, async () => {
      await keeper.delete(id);
      await show();
      byId("drafts-close", HTMLButtonElement).focus();
    });
    return make(
      "li",
      {},
      openIn === "this tab" ? make("span", {}, title) : open,
      make("span", { class: "notice" }, `${DATES.format(savedAt)}${files}`),
      openIn === null ? remove : make("span", {}, `Open in ${openIn}`),
    );
  };

  byId("drafts-button", HTMLButtonElement).addEventListener("click", () => void show().then(() => dialog.showModal()));
}

const STATES: Readonly<Record<KeepState, string>> = {
  "nothing to keep": "",
  saving: "Saving…",
  kept: "Draft kept",
  "no database":
    "This browser keeps no drafts for this page, perhaps because the window is private. Save a ZIP before you close it.",
  "no room":
    "This browser has no room left for this draft. Delete other drafts, or save a ZIP before you close the page.",
};

export function showKeepState(state: KeepState): void {
  const element = byId("keep-state", HTMLElement);
  element.dataset.state = state;
  element.textContent = STATES[state];
}
