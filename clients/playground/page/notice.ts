/** A line that says what has just happened, with a button that undoes it. */
import { makeButton } from "./elements.ts";

export class Notice {
  readonly #element: HTMLElement;

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  say(text: string, undo?: () => void): void {
    this.#element.replaceChildren(text);
    if (undo === undefined) return;
    const button = makeButton("Undo", { class: "link-button" }, () => {
      this.#element.replaceChildren("Undone.");
      undo();
    });
    this.#element.append(" ", button);
  }
}
