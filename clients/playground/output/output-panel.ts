/** The options of `output`. Only those of the chosen format are shown and sent; most of them fold away. */
import { OUTPUT_SCHEMAS, type OutputField } from "../../../rules/output-options.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { readStored, writeStored } from "../page/browser-storage.ts";
import { byId } from "../page/elements.ts";
import { OutputForm } from "./output-form.ts";
import { describeOptions } from "./output-words.ts";

const FOLDED_KEY = "output-options";
/** On a lower screen they are folded until somebody wants them: the editor needs the height. */
const ROOMY_SCREEN = "(min-width: 60rem) and (min-height: 50rem)";

export class OutputPanel {
  readonly #form = new OutputForm();
  readonly #fold = byId("output-options", HTMLDetailsElement);

  constructor(store: DraftStore) {
    const { element } = this.#form;
    this.#fold.open = (readStored("local", FOLDED_KEY) ?? (matchMedia(ROOMY_SCREEN).matches ? "open" : "")) === "open";
    this.#fold.querySelector("summary")?.addEventListener("click", () => {
      // Before the click has its effect.
      writeStored("local", FOLDED_KEY, this.#fold.open ? "folded" : "open");
    });
    element.addEventListener("submit", (event) => event.preventDefault());
    element.addEventListener("input", () => {
      this.#showFieldsOfFormat();
      store.edit({ output: this.#form.read() });
    });
    const fill = () => {
      this.#form.fill(store.draft.output);
      this.#showFieldsOfFormat();
    };
    store.onChange((change) => {
      if (change === "replace") fill();
    });
    fill();
  }

  mark(messages: ReadonlyMap<OutputField, string>): void {
    for (const element of this.#fields()) {
      const text = [...messages].find(([field]) => field === element.dataset.field)?.[1] ?? "";
      const message = element.querySelector(".message");
      if (message !== null) message.textContent = text;
      for (const input of element.querySelectorAll("input, select"))
        input.setAttribute("aria-invalid", String(text !== ""));
      if (text !== "") unfold(element);
    }
  }

  focus(field: OutputField): void {
    const input = this.#form.element.querySelector<HTMLElement>(`[data-field="${field}"] :is(input, select)`);
    if (input === null) return;
    unfold(input);
    input.focus();
  }

  #showFieldsOfFormat(): void {
    const names = Object.keys(OUTPUT_SCHEMAS[this.#form.format].entries);
    for (const element of this.#fields()) element.hidden = !names.includes(element.dataset.field ?? "");
    byId("output-chosen", HTMLElement).textContent = describeOptions(this.#form.read()).join(" · ");
  }

  #fields(): NodeListOf<HTMLElement> {
    return this.#form.element.querySelectorAll<HTMLElement>("[data-field]");
  }
}

function unfold(element: HTMLElement): void {
  for (let fold = element.closest("details"); fold !== null; fold = fold.parentElement?.closest("details") ?? null) {
    fold.open = true;
  }
}
