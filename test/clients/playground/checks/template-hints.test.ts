/** What the playground says of a template that renders, and is not what its author expects. */
import { describe, expect, it } from "vitest";
import { type DraftTexts, templateHints } from "../../../../clients/playground/checks/template-hints.ts";
import "../../../../clients/template/node-parser.ts";

const DRAFT: DraftTexts = { source: "= Hello", data: '{"name": "Ada"}', files: [] };

const hints = (draft: Partial<DraftTexts>) => templateHints({ ...DRAFT, ...draft });
const files = (entries: Record<string, string>) => Object.entries(entries).map(([key, text]) => ({ key, text }));

describe("a hint is given", () => {
  it("where the template or another source reads sys.inputs", () => {
    const found = hints({
      source: "\n#sys.inputs.a",
      files: files({ "a.typ": "#import sys: inputs", "b.typ": "#sys.version" }),
    });
    expect(found).toEqual([
      {
        place: { field: "source", offset: 2, length: 3 },
        message: "Line 2: reads sys.inputs, which is empty here. Use data, or begin with #let sys = (inputs: data).",
        isWarning: true,
      },
      expect.objectContaining({ place: { field: "files", keys: ["a.typ"], offset: 8, length: 3 } }),
    ]);
  });

  it("on types by their old names, with what to write", () => {
    expect(hints({ source: '#if type(data.name) == "string" [a]' })).toEqual([
      {
        place: { field: "source", offset: 4, length: 15 },
        message: 'Line 1: type(data.name) == "string" is always false since Typst 0.14: write type(data.name) == str.',
        isWarning: true,
      },
    ]);
  });

  it("where the data is a text that holds JSON", () => {
    const found = hints({ source: "Dear #data.name,", data: JSON.stringify('{"name": "Ada"}') });
    expect(found.map(({ message }) => message)).toEqual([
      "Line 1: the data is a text that holds JSON, encoded twice: send the object itself.",
    ]);
  });

  it("in the order of its lines", () => {
    const lines = hints({ source: "#pagebreak\n**a**\n#linebreak\n{{ a }}" }).map(({ message }) => message.slice(0, 6));
    expect(lines).toEqual(["Line 1", "Line 2", "Line 3", "Line 4"]);
  });

  it("where the template reads a file of its own and no data", () => {
    const source = '#let data = json("data.json")\n#data.name';
    expect(hints({ source }).map(({ message }) => message)).toEqual([
      "Line 1: reads the file data.json, and the template never uses the data of the request, data.",
    ]);
    expect(hints({ source, data: " {} " })).toEqual([]);
    expect(hints({ source, files: files({ "a.typ": '#let x = json("/:data.json")' }) })).toEqual([]);
  });
});

describe("markup of another language, which Typst shows as it stands", () => {
  it.each([
    ["in code", "#{\n  set page(width: 2cm)\n  let a = 1\n  {{ a }}\n}"],
    ["in a text of code", '#let a = "say **b** and {{ c }}"'],
    ["in raw text and comments", "`**a** {{ b }}` // **a** \\textbf\n/*\nset page(\n*/"],
    ["of Typst itself", "*a* _b_ \\\\ a *b* c *d*, as set by us\n#[let us = friends]"],
    ["in a formula", "$ x\n=c a ** b {{a}} $"],
    ["for which a rule looks", '#show "{{name}}": data.name\nHello {{name}}'],
    ["for whose kind a rule looks", '#show regex("\\\\{\\\\{.*?\\\\}\\\\}"): data.name\nHello {{name}}'],
    ["in prose", "for customers in data processing.\n\nlet x = 5 in this proof\n\n#emph[Python] elif statement"],
    ["in a sum", "Sum:\n=#data.amount"],
  ])("is none %s", (_, source) => {
    expect(hints({ source })).toEqual([]);
  });
});

describe("a correct template gets no hint", () => {
  const data = { price: "4.50", qty: 2, paid: true, note: "A &amp; B", name: "Ada", items: [{ price: "4.50" }] };
  it.each([
    ["lines among its cells", "#table(columns: 2, table.header([A], [B], table.hline()), [1], [2])"],
    [
      "lines among its rows",
      "#table(columns: 2, ..data.items.map(i => (i.price, [1], table.hline())).flatten())\n#let line = table.vline()",
    ],
    [
      "wide cells of its own",
      "#let w = table.cell.with(colspan: 2)\n#table(columns: 3, table.header(w[a], [b]), [1], [2], [3])",
    ],
    ["a default that it compares", '#if data.at("paid", default: "no") == "no" [a]'],
    ["a comparison that lets all through", '#if data.qty != "" [#data.qty]'],
    ["a look at the type", '#if type(data.qty) == str and data.qty == "2" [a]'],
    ["a member that it sets", "#data.items.map(i => { i.price = decimal(i.price); i }).map(i => i.price).sum()"],
    [
      "a member that it inserts",
      '#let f(i) = { i.insert("price", decimal(i.price)); i }\n#data.items.map(f).map(i => i.price).sum()',
    ],
    ["a member that it gives a key", '#data.items.map(i => (..i, "price": decimal(i.price))).map(i => i.price).sum()'],
    ["a member of something else", '#let cfg = json("cfg.json")\n#(cfg.price * 2) #data.name #cfg.note'],
    ["raw HTML", "#raw(data.note)"],
    ["a rule for entities", '#show "&amp;": "&"\n#data.note'],
    ["code of another language", `#raw("\${data.name}", lang: "js")`],
  ])("for %s", (_, source) => {
    expect(hints({ source, data: JSON.stringify(data) })).toEqual([]);
  });

  it("for what another file uses of it", () => {
    const lib = '#let total = state("t", 0)\n#let badge(b) = text(fill: white, b)\n#let reset = total.update(0)';
    const source = '#import "lib.typ": badge, reset\n#reset\n#rect(fill: navy, badge[a])';
    expect(hints({ source, files: files({ "lib.typ": lib }) })).toEqual([]);
    expect(hints({ source: lib })).toHaveLength(2);
  });
});

/** For what takes a second in one pass, and many minutes in one for each line. */
const ENDS_IN_MILLISECONDS = 180_000;

it.each([
  ["beginnings of pictures", (at: number) => `![${at % 2}`],
  ["braces in a formula", (at: number) => (at === 0 ? "$" : "_{")],
  ["updates", (at: number) => (at === 0 ? "#let c = counter(page)\n" : `#let a${at} = c.update(1)\n`)],
  ["comparisons", () => "#(x.a == 1)\n"],
  ["members with defaults", () => '#x.at("a", default: 1)\n'],
  ["loops", () => "#for x in y [a]\n"],
  ["sums", (at: number) => (at === 0 ? "#(data.price" : " + data.price")],
  ["rules", (at: number) => `#show "${at}": [a]\n{{ b }}\n`],
])(
  "a text of nothing but %s is looked at in one pass",
  (_, part) => {
    let text = "";
    for (let at = 0; text.length < 190_000; at++) text += part(at);
    expect(hints({ source: text, data: JSON.stringify({ price: "4.50", y: "a,b" }) })).toBeInstanceOf(Array);
  },
  ENDS_IN_MILLISECONDS,
);

it(
  "of data with very many members, nothing takes long",
  () => {
    const data = JSON.stringify(Object.fromEntries(Array.from({ length: 300_000 }, (_, at) => [`member${at}`, "a"])));
    const source = '#data.at("membr", default: 1)\n'.repeat(50);
    expect(hints({ source, data })).toEqual([]);
  },
  ENDS_IN_MILLISECONDS,
);

it("a text of a program is not looked at", () => {
  expect(hints({ source: `#sys.inputs\n${"x".repeat(200_000)}` })).toEqual([]);
  expect(hints({ source: `#sys.inputs\n${"x".repeat(199_000)}` })).toHaveLength(1);
});
