/** A line of the page that says what has just happened, with a button that undoes it. */
import { byId, makeButton } from "./elements.ts";

export type Notice = (text: string, undo?: () => void) => void;

export function connectNotice(id: string): Notice {
  const element = byId(id, HTMLElement);
  return (text, undo) => {
    element.replaceChildren(text);
    if (undo === undefined) return;
    const button = makeButton("Undo", { class: "link-button" }, () => {
      element.replaceChildren("Undone.");
      undo();
    });
    element.append(" ", button);
  };
}
