/** The options of `output`. Only those of the chosen format are shown and sent. */
import { OUTPUT_SCHEMAS, type OutputField } from "../../../rules/output-options.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { OutputForm } from "./output-form.ts";

export class OutputPanel {
  readonly #form = new OutputForm();

  constructor(store: DraftStore) {
    const { element } = this.#form;
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
    }
  }

  focus(field: OutputField): void {
    this.#form.element.querySelector<HTMLElement>(`[data-field="${field}"] :is(input, select)`)?.focus();
  }

  #showFieldsOfFormat(): void {
    const names = Object.keys(OUTPUT_SCHEMAS[this.#form.format].entries);
    for (const element of this.#fields()) element.hidden = !names.includes(element.dataset.field ?? "");
  }

  #fields(): NodeListOf<HTMLElement> {
    return this.#form.element.querySelectorAll<HTMLElement>("[data-field]");
  }
}
