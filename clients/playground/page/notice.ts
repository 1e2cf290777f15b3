/** A line of the page that says what has just happened, with buttons that undo it or go on from it. */
import { byId, makeButton } from "./elements.ts";

export interface NoticeOffer {
  readonly label: string;
  readonly accept: () => void;
}

export type Notice = (text: string, undo?: (() => void) | null, offers?: readonly NoticeOffer[]) => void;

export function connectNotice(id: string): Notice {
  const element = byId(id, HTMLElement);
  return (text, undo = null, offers = []) => {
    element.replaceChildren(text);
    for (const { label, accept } of offers) element.append(" ", makeButton(label, { class: "link-button" }, accept));
    if (undo === null) return;
    const button = makeButton("Undo", { class: "link-button" }, () => {
      element.replaceChildren("Undone.");
      undo();
    });
    element.append(" ", button);
  };
}
