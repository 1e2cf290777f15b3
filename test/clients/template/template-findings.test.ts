/** What is found in a template's text, and what is not: prose, comments, raw text, and names that mean something else. */
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { dataNamesBoundIn, usesData } from "../../../clients/template/data-use.ts";
import "../../../clients/template/node-parser.ts";
import { olderTypstHint } from "../../../clients/template/older-typst.ts";
import { lineAt, parseTemplate } from "../../../clients/template/syntax-tree.ts";
import {
  findDataFile,
  findInputsUse,
  findOldTypeNames,
  findTextArithmetic,
  inputNames,
} from "../../../clients/template/template-findings.ts";

import { typstPath } from "../../support/backend/typst-path.ts";

describe("the data", () => {
  it.each([
    ["#data.name"],
    ["#letter(request)"],
    ["#text(size: 1pt)[#data.name]"],
    ["#let data = data.customer\n#data.name"],
    ['#let data = if data == (:) { json("data.json") } else { data }'],
    ['#let data = json("data.json")\n#request.name'],
    ["#let f(data: data) = data.name"],
    ["#let f(x) = { let data = x; data }\n#f(data)"],
    ["$data$"],
    ['#eval("data.name")'],
    ["#for (key, value) in data [#key]"],
    ["#for data in data.items [#data.name]"],
    ["#let f = (data, x: data) => x"],
    ['#import "lib.typ": data as sample\n#data.name'],
    ["#let f(data) = data.name\n#f(data)"],
    ["#{ let data = 1 }\n#data.name"],
    ["#{\n  let data = (\n    data.items\n      .filter(x => x)\n  )\n}"],
    ["#{ let x = data\n}"],
    ["#{ let request = 1\n data }"],
    ["#show heading: it => [#it.body #data.name]"],
    ["#let (a, b) = (data.a, data.b)"],
    ["#f(x => x, data)"],
    ["#let data = none;#request"],
    ["#if data.paid [paid]"],
    ['#import "data.typ" as sample\n#data.name'],
    ["#let (data: sample) = (data: 1)\n#data.name"],
  ])("is used by %s", (source) => {
    expect(usesData(parseTemplate(source))).toBe(true);
  });

  it.each([
    ["The data of your request: data, request."],
    ['#let data = json("data.json")\nDear #data.name,'],
    ['#import "data.typ": data, request\n#data.name'],
    ['#let letter(data) = [Dear #data.name]\n#letter(json("data.json"))'],
    ["#letter(data: 1)"],
    ["#person.data"],
    ['#for data in json("rows.json") [#data.name]'],
    ['#for (data, x) in csv("rows.csv") { data.name }'],
    ["#let letter(data: none) = data.name"],
    ["#let f = data => [Dear #data.name]"],
    ["#let f = (x, data: 1) => data.name\n#f(1)"],
    ["#rows.map(data => data.name).join()"],
    ['#{ let data = json("data.json"); data.name }'],
    ['#let page() = {\n  let data = json("data.json")\n  [#data.name]\n}\n#page()'],
    ["#let (data, x) = load()\n#data.name"],
    ["#let (x: data) = load()\n#data.name"],
    ['#let data() = json("data.json")\n#data().name'],
    ['#import "data.typ"\n#data.name'],
    ['#import "lib.typ": load as data, request\n#data.name'],
    ['#import "lib.typ" as data\n#data.name'],
    ["#show: data => data"],
    ["// #data\n`#data` \\#data"],
    ['#json("data.json").name'],
    [""],
  ])("is not used by %s", (source) => {
    expect(usesData(parseTemplate(source))).toBe(false);
  });

  it("is used for all that is known of a text whose brackets nobody closes", () => {
    for (const piece of ["(", "{", "[#", "{ let a = (", "data => ", "for data in {", "let f(x: "]) {
      expect(usesData(parseTemplate(`#let a = ${piece.repeat(5000)}data`))).toBe(true);
    }
  });

  it("is not what a file gives to those that import all of it", () => {
    const lib = parseTemplate('#let data = json("data.json")\n#let f(request) = request');
    const star = '#import "lib.typ": *\n#data.name';
    expect([...dataNamesBoundIn(lib)]).toEqual(["data"]);
    expect(usesData(parseTemplate(star), (path) => (path === "lib.typ" ? dataNamesBoundIn(lib) : new Set()))).toBe(
      false,
    );
    expect(usesData(parseTemplate(`${star} #request`), () => dataNamesBoundIn(lib))).toBe(true);
    expect(usesData(parseTemplate(star))).toBe(true);
  });

  it.each([
    ['= A\n#let d = json("data.json")', "reads the file data.json", 2],
    ['#for row in csv("/lists/people.csv", row-type: dictionary) []', "reads the file /lists/people.csv", 1],
    ['#let a = toml("a.toml")', "reads the file a.toml", 1],
    ['#let a = json(bytes(read("x.json")))', "reads the file x.json", 1],
  ])("is in a file: %s", (text, message, line) => {
    const found = findDataFile(parseTemplate(text));
    expect(found?.message).toBe(message);
    expect(lineAt(text, found?.offset ?? 0)).toBe(line);
  });

  it.each([
    ['#image("a.json")'],
    ['// json("data.json")'],
    ["#json(bytes(sys.inputs.data))"],
    ['#read("logo.svg")'],
    ['json("a.json")'],
  ])("is in no file: %s", (text) => {
    expect(findDataFile(parseTemplate(text))).toBeNull();
  });
});

describe("sys.inputs", () => {
  it.each([
    ['#sys.inputs.a #sys.inputs.at("b", default: 1)', ["a", "b"]],
    ['#import sys: inputs\n#if "a" in inputs [#inputs.a] #if "b" not in sys.inputs []', ["a", "b"]],
    ["#sys.inputs", null],
    ["#let all = sys.inputs\n#all.a", null],
    ["#import sys: inputs as all\n#all.a", null],
    ["#import sys: *\n#inputs.a", ["a"]],
    ["#sys.inputs.at(key) #sys.inputs.a", null],
    ["#sys.inputs.keys()", null],
    ["#for (key, value) in sys.inputs [#key]", null],
  ])("has the keys that are read by %s", (text, names) => {
    const found = inputNames(parseTemplate(text));
    expect(found === null ? null : [...found]).toEqual(names);
  });

  it.each([
    ["#sys.inputs.name"],
    ['#let a = sys.inputs.at("a", default: "b")'],
    ["#import sys: inputs"],
    ['#if "x" in sys.inputs [a]'],
    ["#std.sys.inputs.a"],
  ])("is read by %s", (text) => {
    expect(findInputsUse(parseTemplate(text))).not.toBeNull();
  });

  it.each([
    ["#sys.version"],
    ["Write sys.inputs"],
    ["// #sys.inputs"],
    ['#"sys.inputs"'],
    ["#let sys = (inputs: data)\n#sys.inputs.name"],
    ["#my.sys.inputs"],
    ['#import "/sys-inputs.typ" as sys\n#import sys: inputs\n#sys.inputs.name'],
  ])("is not read by %s", (text) => {
    expect(findInputsUse(parseTemplate(text))).toBeNull();
  });
});

describe("types by their old names", () => {
  it.each([
    ['#if type(x) == "string" [a]', 'type(x) == "string" is always false since Typst 0.14: write type(x) == str'],
    ['#{ type(x) != "integer" }', 'type(x) != "integer" is always true since Typst 0.14: write type(x) != int'],
    [
      '#if "boolean" == type(x.at(0)) []',
      'type(x.at(0)) == "boolean" is always false since Typst 0.14: write type(x.at(0)) == bool',
    ],
    ['#if type(x) == "none" []', 'type(x) == "none" is always false since Typst 0.14: write x == none'],
    [
      '#if type(x) == "relative length" []',
      'type(x) == "relative length" is always false since Typst 0.14: write type(x) == relative',
    ],
    [
      '#if type(x) in ("string", "content") []',
      'type(x) in ("string", …) is always false since Typst 0.14: write type(x) in (str, …)',
    ],
  ])("%s", (text, message) => {
    expect(findOldTypeNames(parseTemplate(text)).map((found) => found.message)).toEqual([message]);
  });

  it.each([
    ["#if type(x) == str []"],
    ['#if x.type == "string" []'],
    ['#if x.type(1) == "string" []'],
    ['Once it was type(x) == "string".'],
    ['`type(x) == "string"` // type(x) == "string"'],
    ['#"type(x) == \\"string\\""'],
    ['#if type(x) == "letter" []'],
    ['#f(type("a"), "string")'],
  ])("are not in %s", (text) => {
    expect(findOldTypeNames(parseTemplate(text))).toEqual([]);
  });
});

it("Typst's errors about what older templates have are told from others", () => {
  const hintOn = (message: string, code = "") => olderTypstHint(message, code);
  const selectors = "only element functions can be used as selectors";
  expect(hintOn("function `json` does not contain field `decode`")).toContain("#older-typst");
  expect(hintOn(selectors, "#locate(loc => loc)")).toContain("#older-typst");
  expect(hintOn(selectors, "#show f: it => it")).toBeNull();
  expect(hintOn("unknown variable: locale")).toBeNull();
  expect(hintOn("unknown symbol modifier", "$arrow.odd$")).toBeNull();
});

it.each([
  ["$A sect B$", "sect is inter"],
  ["#sym.sect", "sect is inter"],
  ["$diff x$", "diff is partial"],
  ["$A times.circle.big B$", "times.circle is times.o"],
  ["$angle.l x$", "angle.l is chevron.l"],
  ["$bracket.l.double x$", "bracket.l.double is bracket.l.stroked"],
  ['#pdf.embed("a.csv", bytes("1"))', "embed is attach"],
  ["#path((0pt, 0pt), (1pt, 1pt))", "what path drew is drawn by curve"],
])("Typst's error for %s gets the new name", async (source, told) => {
  const { stderr } = await execa(typstPath(), ["compile", "-", "-"], { input: source, reject: false });
  const [, message = ""] = /^error: (.*)$/m.exec(stderr) ?? [];
  expect(olderTypstHint(message, source)).toContain(`since Typst 0.15, ${told}`);
});

describe("texts that are taken for numbers", () => {
  const found = (text: string) => {
    const finding = findTextArithmetic(parseTemplate(text), new Set(["wood", "glue"]));
    return finding === null ? null : /computes with (.*), a text, which Typst (\w+)/.exec(finding.message)?.slice(1);
  };

  it.each([
    ["#(data.wood + data.glue)", "data.wood", "joins"],
    ['#(row.at("wood") + row.glue)', 'row.at("wood")', "joins"],
    ["#(data.wood, data.glue).sum()", "data.wood", "joins"],
    ["#let w = data.wood\n#let both = (w, data.glue)\n#both.sum(default: 0)", "data.wood", "joins"],
    ["#{ let w = data.wood\n w += data.glue }", "data.wood", "joins"],
    ["#let (w, g) = (data.wood, data.glue)\n#(w + g)", "data.wood", "joins"],
    ["#(data.glue * 3)", "data.glue", "repeats"],
    ["#(row.glue * row.count)", "row.glue", "repeats"],
    ["#let total(rows) = rows.map(row => row.wood).sum()", "row.wood", "joins"],
    ["#if data.glue < data.wood [less]", "data.glue", "orders"],
    ["#calc.max(data.wood, data.glue)", "data.wood", "orders"],
    ["#if data.wood == 1 [one]", "data.wood", "never"],
  ])("are found in %s", (text, shown, verb) => {
    expect(found(text)).toEqual([shown, verb]);
  });

  it.each([
    ["#(float(data.wood) + decimal(data.glue))"],
    ['#("No. " + data.wood + data.glue)'],
    ["#(data.name + data.wood)"],
    ['#if data.wood == "1" [one]'],
    ["#(data.wood, data.glue).join(1)"],
    ["data.wood + data.glue, $data.wood + data.glue$"],
    ["#rows.map(row => decimal(row.wood)).sum()"],
    ["#rows.map(row => (..row, wood: decimal(row.wood))).map(row => row.wood).sum()"],
    ["#{ let w = data.wood\n w = decimal(w)\n w += data.glue }"],
    ["#{ let w = data.wood\n w = w + data.x\n w += data.glue }"],
    [`#{ let w = data.wood\n${" w = w + w + data.x\n".repeat(2000)} w += data.glue }`],
    ["#let (w, ..rest) = (data.wood, data.glue)\n#(w + data.glue)"],
    ['#let own = json("own.json")\n#(own.wood * 2) #(own.at("wood") * 2) #(own.at("x").wood * 2)'],
  ])("are not in %s", (text) => {
    expect(found(text)).toBeNull();
  });
});
