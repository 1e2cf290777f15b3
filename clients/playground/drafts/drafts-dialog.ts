/** The drafts that this browser keeps, in a dialog; and beside the draft, whether it is one of them. */
import { byId, make, makeButton } from "../page/elements.ts";
import type { DraftKeeper, KeepState } from "./draft-keeper.ts";

/** @param onOpened called when another draft is shown; `isCopy` if another tab works on the original */
export function connectDraftsDialog(keeper: DraftKeeper, onOpened: (isCopy: boolean) => void): void {
  const dialog = byId("drafts-dialog", HTMLDialogElement);
  const list = byId("drafts-list", HTMLUListElement);
  const none = byId("drafts-none", HTMLElement);
  const dates = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

  const show = async () => {
    const drafts = await keeper.list();
    none.hidden = drafts.length > 0;
    list.replaceChildren(
      ...drafts.map(({ id, title, fileCount, savedAt, openIn }) => {
        const files = fileCount === 0 ? "" : ` · ${fileCount} file${fileCount === 1 ? "" : "s"}`;
        const facts = make("span", { class: "draft-facts" }, `${dates.format(savedAt)}${files}`);
        if (openIn === "this tab") {
          return make("li", {}, make("span", {}, title), facts, make("span", {}, "Open in this tab"));
        }
        const open = makeButton(title, { class: "link-button" }, async () => {
          const opened = await keeper.open(id);
          dialog.close();
          if (opened !== "nothing") onOpened(opened === "copy");
        });
        if (openIn === "another tab") return make("li", {}, open, facts, make("span", {}, "Open in another tab"));
        const remove = makeButton("Delete", { class: "link-button", "aria-label": `Delete ${title}` }, async () => {
          await keeper.delete(id);
          await show();
          byId("drafts-close", HTMLButtonElement).focus();
        });
        return make("li", {}, open, facts, remove);
      }),
    );
  };

  byId("drafts-button", HTMLButtonElement).addEventListener("click", () => void show().then(() => dialog.showModal()));
  byId("drafts-close", HTMLButtonElement).addEventListener("click", () => dialog.close());
}

export function showKeepState(state: KeepState): void {
  const element = byId("keep-state", HTMLElement);
  element.dataset.state = state.kind;
  element.textContent = {
    "nothing to keep": "",
    saving: "Saving…",
    kept: "Draft kept",
    "not kept": state.kind === "not kept" ? state.reason : "",
  }[state.kind];
}
