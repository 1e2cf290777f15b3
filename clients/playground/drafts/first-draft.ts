/** The draft that the page begins with. It needs no files, and shows what the service does. */
import type { Draft } from "./draft.ts";

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
