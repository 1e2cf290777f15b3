/** Which files and packages a template reads, by Typst's own parser: paths, names for paths, and what is computed. */
import { describe, expect, it } from "vitest";
import "../../../clients/template/node-parser.ts";
import { computingFunctions, packagesIn, readPaths, readsOf } from "../../../clients/template/reads.ts";
import { parseTemplate } from "../../../clients/template/syntax-tree.ts";
import { formatPackageSpec } from "../../../rules/package-spec.ts";

describe("a template reads", () => {
  it.each<[string, Record<string, number>]>([
    ['#image("a.png", width: 1cm)\n#image( width: 1cm,\n "b.png" )', { "a.png": 1, "b.png": 2 }],
    ['#import "a.typ": x\n#include "b.typ"\n#include { "c" + ".typ" }', { "a.typ": 1, "b.typ": 2, "c.typ": 3 }],
    ['#let path = "rows.local.yaml"\n#yaml(path)', { "rows.local.yaml": 2 }],
    ['#let folder = "img/"\n#let logo = folder + "a.png"\n#image(logo)', { "img/a.png": 3 }],
    ['#let (a, b) = ("a.png", "b.png")\n#image(b)', { "b.png": 2 }],
    ['#std.read("a.txt") #pdf.attach("b.txt", description: "x")', { "a.txt": 1, "b.txt": 1 }],
    ['#read("a \\"b\\"\\u{2e}txt")', { 'a "b".txt': 1 }],
    ['$ x #image("a.png") $ = A #csv("b.csv")', { "a.png": 1, "b.csv": 1 }],
    ['#json("a.json"', { "a.json": 1 }],
  ])("the paths of calls and imports, with their lines: %s", (source, paths) => {
    expect(Object.fromEntries(readPaths(parseTemplate(source)))).toEqual(paths);
  });

  it.each([
    ['image("a.png") and "b.png"'],
    ['`#image("a.png")` // #image("b.png")\n/* #image("c.png") */'],
    ['#"image(\\"a.png\\")"'],
    ['#import "@preview/a:1.0.0"'],
    ['#pdf.attach("a.txt", bytes("x")) #image(bytes("a")) #attach[a]'],
    ['#let image(name) = std.image("img/" + name)\n#image("a.png")'],
    ['#lib.image("a.png") #image.decode("a")'],
    ['$attach("a", t: "b")$'],
  ])("no path in what only looks like one: %s", (source) => {
    expect([...readPaths(parseTemplate(source)).keys()]).toEqual([]);
  });

  it.each([
    ["#image(path)", ["image"]],
    ['#image("img/" + name)', ["image"]],
    ["#image(width: 1cm, path)", ["image"]],
    ['#json( data.file + ".json" )', ["json"]],
    ['#read(if x { "a" } else { "b" })', ["read"]],
    ['#include "chapters/" + name', ["include"]],
    ["#include chapter\n", ["include"]],
    ['#include { "parts/" + part + ".typ" }', ["include"]],
    ['#import ("a" + name): x', ["import"]],
    ["#import { name }: x", ["import"]],
    ['#pdf.attach(name, description: "x")', ["attach"]],
    ["#let path = data.path\n#read(path)", ["read"]],
    ['#let path = "a"\n#let path = "b"\n#read(path)', ["read"]],
    ['#let path = "a"\n#let f(path) = read(path)', ["read"]],
    ['#let path = "a"\n#{ path += ".png"; image(path) }', ["image"]],
  ])("a computed path in %s", (source, functions) => {
    expect(computingFunctions(parseTemplate(source))).toEqual(functions);
  });

  it.each([
    ['#image("a.png", width: 1cm)'],
    ['#image(\n  "a.png",\n  width: 1cm,\n)'],
    ['#image("a" + ".png")'],
    ["#image(bytes(data.picture))"],
    ["#let picture = bytes(data.picture)\n#image(picture)"],
    ["#cbor(plugin.run(x))"],
    ["#set image(width: 1cm)"],
    ["#import lib: x"],
    ['#import plugin("a.wasm"): run'],
    ["#images(path) #image.with(width: 1cm) #image()"],
    ["// #image(path)"],
    ["We include the tax. image(path)"],
  ])("no computed path in %s", (source) => {
    expect(computingFunctions(parseTemplate(source))).toEqual([]);
  });

  it("files by functions that it hands on", () => {
    const hands = (source: string) => readsOf(parseTemplate(source)).handsOnFunctions;
    expect(["#names.map(json)", "#let reader = json", "#f(reader: json)"].map(hands)).toEqual([true, true, true]);
    expect(["#show image: it => it", "#let json(x) = x", "#f(json: 1)", "#json.encode(1)"].map(hands)).toEqual([
      ...[false, false, false, false],
    ]);
  });

  it("whatever is a string, also in raw text that it evaluates", () => {
    const strings = (source: string) => readsOf(parseTemplate(source)).strings;
    expect(strings('#let a = (a: "logo.png", b: "c"); "d" `#image("e")`')).toEqual(["logo.png", "c"]);
    expect(strings('#eval(`image("e.png")`.text)')).toEqual(["e.png"]);
  });
});

it.each([
  ['#import "@preview/a:1.0.0": x\n#include "@local/b:1.0.0"', ["@preview/a:1.0.0 1", "@local/b:1.0.0 2"]],
  ['#let version = "1.0.0"\n#import "@local/a:" + version: x', ["@local/a:1.0.0 2"]],
  ['// "@preview/a:1.0.0"\n`"@preview/b:1.0.0"`', []],
  ['#import "@preview/a:1.0": x', []],
])("imports packages, each with its line: %s", (source, packages) => {
  const found = packagesIn(parseTemplate(source)).filter(({ isImport }) => isImport);
  expect(found.map(({ spec, line }) => `${formatPackageSpec(spec)} ${line}`)).toEqual(packages);
});

describe("a text", () => {
  it.each([
    ["nested too deeply", `#${"(".repeat(100_000)}`],
    ["with very many operators", `#{1${"+1".repeat(100_000)}}`],
    ["that is too long", "a".repeat(2 * 1024 ** 2 + 1)],
  ])("%s is not readable, and the next one is", (_what, text) => {
    const template = parseTemplate(text);
    expect(template.isReadable).toBe(false);
    expect(readsOf(template)).toMatchObject({ reads: [], strings: [] });
    expect([...readPaths(parseTemplate(`#image("${text.length}.png")`)).keys()]).toEqual([`${text.length}.png`]);
  });

  it("is as long as its tree, in UTF-16, whatever its characters are", () => {
    for (const text of ['\ufeff#f("ä😀")', "a\r\nb", "a\ud800b", "a\0b", `${"ü".repeat(9)}#x`]) {
      expect(parseTemplate(text).root.end).toBe(text.length);
    }
  });
});
