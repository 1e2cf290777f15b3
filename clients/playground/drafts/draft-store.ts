/** The single place that holds the draft of the page. The panels edit it here, and are notified of its changes. */
import type { Draft } from "./draft.ts";

/** `edit`: the user changed a part of the draft. `replace`: another draft has taken its place. */
export type DraftChange = "edit" | "replace";

export class DraftStore {
  #draft: Draft;
  #isEdited = false;
  readonly #listeners: ((change: DraftChange) => void)[] = [];

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  get draft(): Draft {
    return this.#draft;
  }

  /** Whether the draft holds work that exists nowhere else. */
  get isEdited(): boolean {
    return this.#isEdited;
  }

  onChange(listener: (change: DraftChange) => void): void {
    this.#listeners.push(listener);
  }

  edit(changed: Partial<Draft>): void {
    this.#set({ ...this.#draft, ...changed }, true, "edit");
  }

  replace(draft: Draft, { isEdited }: { readonly isEdited: boolean }): void {
    this.#set(draft, isEdited, "replace");
  }

  #set(draft: Draft, isEdited: boolean, change: DraftChange): void {
    this.#draft = draft;
    this.#isEdited = isEdited;
    for (const listener of this.#listeners) listener(change);
  }
}

/** The draft that the page begins with. It needs no files, and shows what the service does. */
export const FIRST_DRAFT: Draft = {
  source: `#set page(width: 148mm, height: 105mm, margin: 14mm)
#set text(size: 11pt)

= Hello, #data.name!

This page was made from #data.items.len() items:

#table(
  columns: (1fr, auto),
  stroke: 0.5pt + gray,
  ..data.items.map(item => (item.name, str(item.price))).flatten(),
)
`,
  data: `{
  "name": "world",
  "items": [
    { "name": "Paper", "price": 4.5 },
    { "name": "Ink", "price": 12 }
  ]
}`,
  files: [],
  output: { format: "pdf", members: { filename: '"hello.pdf"' } },
};
