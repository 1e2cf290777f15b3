/** Says beside the draft whether this browser keeps it. */
import { byId } from "../page/elements.ts";
import type { KeepState } from "./draft-keeper.ts";

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
