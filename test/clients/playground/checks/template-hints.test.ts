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
  ])("is none %s", (_, source) => {
    expect(hints({ source })).toEqual([]);
  });
});

it("a text of a program is not looked at", () => {
  expect(hints({ source: `#sys.inputs\n${"x".repeat(200_000)}` })).toEqual([]);
  expect(hints({ source: `#sys.inputs\n${"x".repeat(199_000)}` })).toHaveLength(1);
});
