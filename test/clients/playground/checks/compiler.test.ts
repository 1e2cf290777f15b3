/** What the playground's compiler finds in templates, by the WebAssembly that the page loads. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, it } from "vitest";
import type { CompilerProject } from "../../../../clients/playground/checks/compiler/project-text.ts";
import { ProjectCompiler } from "../../../../clients/playground/checks/compiler/typst-compiler.ts";
import "../../../../clients/template/node-parser.ts";
import { templateHints } from "../../../../clients/playground/checks/template-hints.ts";
import type { RenderRequest } from "../../../../clients/typescript/render-request.ts";
import { EXAMPLE_NAMES } from "../../../../protocol/routes.ts";
import { COMPILER, COMPILER_FONTS } from "../../../../scripts/assets/compiler-assets.ts";
import { readEmbeddedFonts } from "../../../../scripts/assets/embedded-fonts.ts";
import { exampleRequest } from "../../../../scripts/examples/example-request.ts";
import { requireTypst } from "../../../../typst/program-location.mjs";
import { snippetsOf } from "../../../support/readers/markdown-blocks.ts";
import { makeTemporaryFolder } from "../../../support/temporary-folder.ts";
import { MISTAKES, type Mistake } from "./beginners-mistakes.ts";

const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
const TITLE = '#set document(title: "x")\n';

let compiler: ProjectCompiler;

beforeAll(async () => {
  const fonts = await readEmbeddedFonts(await requireTypst());
  const module = new WebAssembly.Module(await readFile(COMPILER));
  compiler = await ProjectCompiler.open(
    module,
    COMPILER_FONTS.flatMap(({ postScriptName }) => fonts.get(postScriptName) ?? []),
  );
});

/** What is found: the text at its place, in its file, and the message. */
async function findingsIn(source: string, parts: Partial<CompilerProject> = {}) {
  const project: CompilerProject = { source, data: "{}", files: [], standards: [], isPdfRefused: false, ...parts };
  const { findings: found } = await compiler.judge(project);
  return found.map(({ place, message: whole }) => {
    const key = "keys" in place ? place.keys[0] : undefined;
    const { offset = 0, length = 0 } = "offset" in place ? place : {};
    const file = project.files.find((each) => each.key === key);
    const text = key === undefined ? source : Buffer.from(file?.bytes ?? []).toString("utf8");
    const [, line, message = ""] = /^Line (\d+): (.*)$/s.exec(whole) ?? [];
    const at = text.replaceAll("\r\n", "\n").slice(offset, offset + length);
    return { line: Number(line), at, message, ...(key !== undefined && { key }) };
  });
}

const LOGO = { key: "images/logo.svg", bytes: SVG };

describe("a mistake is named at its place", () => {
  const name = { data: '{"name":1}' };
  const latin1 = { files: [{ key: "a.csv", bytes: new Uint8Array([0xe4, 0x2c, 0x62]) }] };
  const subtraction =
    "Unknown variable: a-b. Hint: if you meant to use subtraction, try adding spaces around the minus sign: `a - b`.";

  it.each<[mistake: string, marked: string, message: string | RegExp, parts?: Partial<CompilerProject>]>([
    ["a misspelt function", "= A\n#«tabel»(columns: 2)", "Unknown variable: tabel. Did you mean table?"],
    ["an open bracket", "#text(red)«[»*Hi*\n\nmore", "Unclosed delimiter. This [ has no ]: look where it should end."],
    ["an address, taken for a reference", "to a«@b.example»", /^Label `<b\.example>` does not exist/],
    [
      "a member that the data does not have",
      "#data.«nmae»",
      /^Dictionary does not contain key "nmae".* Did you mean name\?$/,
      name,
    ],
    [
      "a file that is not there",
      '#image(«"imges/logo.svg"»)',
      "The project has no file “imges/logo.svg”. Did you mean images/logo.svg?",
      { files: [LOGO] },
    ],
    ["a minus sign in a name", "#let a = 1\n#«a-b»", subtraction],
    [
      "a file that is not UTF-8",
      '#csv(«"a.csv"»)',
      /^Failed to parse CSV \(file is not valid UTF-8 in a.csv:1:1\)/,
      latin1,
    ],
  ])("%s", async (_, marked, message, parts) => {
    const [before = "", at = ""] = marked.split(/[«»]/);
    const [first] = await findingsIn(marked.replace(/[«»]/g, ""), parts);
    const line = before.split("\n").length;
    expect(first).toEqual({ line, at, message: message instanceof RegExp ? expect.stringMatching(message) : message });
  });

  it("in the file that it is in, whatever its line ends", async () => {
    const files = [{ key: "lib.typ", bytes: Buffer.from("= 😀\r\n\r\n#y") }];
    expect(await findingsIn('#include "lib.typ"', { files })).toEqual([
      { key: "lib.typ", line: 3, at: "y", message: expect.stringMatching(/^Unknown variable: y\./) },
    ]);
  });

  it("with the path from the root, where a file in a folder names one that is elsewhere", async () => {
    const files = [{ key: "teil ä/a.typ", bytes: Buffer.from('#image("./x/../images/logo.svg")') }, LOGO];
    expect(await findingsIn('#include "teil ä/a.typ"', { files })).toMatchObject([
      { message: "The project has no file “teil ä/images/logo.svg”. Did you mean /images/logo.svg?" },
    ]);
  });

  it("in a message of bounded length", async () => {
    const [panicked] = await findingsIn('#panic("x" * 9999)');
    expect(panicked?.message).toHaveLength(501);
  });

  it("not in the data, which the page itself checks", async () => {
    expect(await findingsIn("#data", { data: "{" })).toEqual([]);
  });

  it("below a first line for a shell, after a byte order mark, and after characters beyond the basic plane", async () => {
    expect(await findingsIn("#!/bin/typst\nä😀 #y")).toEqual([
      { line: 2, at: "y", message: expect.stringMatching(/^Unknown variable: y\./) },
    ]);
    expect(await findingsIn("\ufeffä\n#y")).toMatchObject([{ line: 2, at: "y" }]);
  });
});

const textFiles = (files: Mistake["files"] = {}) =>
  Object.entries(files).map(([key, text]) => ({ key, bytes: Buffer.from(text) }));
const requestFiles = (files: RenderRequest["files"] = {}) =>
  Object.entries(files).map(([key, { encoding, content }]) => {
    return { key, bytes: Buffer.from(content, encoding === "text" ? "utf8" : encoding) };
  });

/** What the page says of a draft: the compiler, and what needs no compiler. */
async function saidOf(source: string, parts: Partial<CompilerProject>): Promise<readonly string[]> {
  const { data = "{}", files = [] } = parts;
  const texts = files
    .filter(({ key }) => key.endsWith(".typ"))
    .map(({ key, bytes }) => ({ key, text: Buffer.from(bytes).toString("utf8") }));
  const hints = templateHints({ source, data, files: texts });
  return [...(await findingsIn(source, parts)), ...hints].map(({ message }) => message);
}

describe("beginners' mistakes have a sentence for people who do not know Typst's words", () => {
  it.each(MISTAKES)("$mistake", async ({ mistake, meaning, data = {}, files }) => {
    const said = await saidOf(mistake, { data: JSON.stringify(data), files: textFiles(files) });
    expect(said.join("\n")).toContain(meaning);
  });
});

describe("PDF/UA-1", () => {
  const standards = ["ua-1"];

  it.each([
    ["a document without a title", "= A", "", /requires a title/],
    [
      "an image without an alternative text",
      `${TITLE}= A\n#image("images/logo.svg")`,
      'image("images/logo.svg")',
      /requires an alternative text/,
    ],
    ["a formula without one", `${TITLE}= A\nSo $x$ it is.`, "$x$", /requires an alternative text/],
  ])("finds %s", async (_, source, at, message) => {
    expect(await findingsIn(source, { standards, files: [LOGO] })).toMatchObject([
      { at, message: expect.stringMatching(message) },
    ]);
    expect(await findingsIn(source, { files: [LOGO] })).toEqual([]);
  });

  it.each([
    ["an alternative text", '#image("images/logo.svg", alt: "Logo")'],
    ["a figure with one", '#figure(image("images/logo.svg", alt: ""), alt: "Logo")'],
    ["an artifact", '#pdf.artifact(image("images/logo.svg"))'],
    ["what is hidden or only measured", '#hide(image("images/logo.svg"))\n#context measure($x$).width'],
    ["a page's background", '#set page(background: image("images/logo.svg"), header: $x$)\na'],
    ["a definition that a page's header uses", '#let logo = image("images/logo.svg")\n#set page(header: logo)\na'],
  ])("accepts %s", async (_, source) => {
    expect(await findingsIn(`${TITLE}= A\n${source}`, { standards, files: [LOGO] })).toEqual([]);
  });
});

describe("a PDF that the service has refused", () => {
  const TALL = `${TITLE}#page(height: 90pt)[]\n#page(height: 15586pt, width: 80mm)[]`;
  const judge = async (source: string, standard: string, data = "{}") =>
    (await compiler.judge({ source, data, files: [], standards: [standard], isPdfRefused: true })).findings;

  it("is refused here with the numbers", async () => {
    const message = "Page 2 is 15,586 pt high; PDF/A-2 allows 14,400. PDF/A-4 has no such bound.";
    expect(await judge(TALL, "a-2b")).toEqual([{ place: { field: "standards" }, message, isWarning: true }]);
  });

  it("for its metadata, their copies, its date, an attached file or a language", async () => {
    const titled = (title: string) => judge("#set document(title: data.title)\nx", "a-1b", JSON.stringify({ title }));
    expect(await titled("a\u{b}")).toMatchObject([{ message: expect.stringContaining("U+000B") }]);
    expect(await titled("a\r\nb")).toMatchObject([{ message: expect.stringContaining("carriage return") }]);
    const dated = "#set document(date: datetime(year: 1500, month: 1, day: 1))\nx";
    expect(await judge(dated, "a-1b")).toMatchObject([{ message: expect.stringContaining("year 1500") }]);
    const attached = '#pdf.attach("a", bytes("b"))';
    expect(await judge(attached, "a-4f")).toMatchObject([{ message: expect.stringContaining("media type") }]);
    const spoken = '#set text(lang: "12")\nx';
    expect(await judge(spoken, "a-2a")).toMatchObject([{ message: expect.stringContaining("language") }]);
  });

  it("is not refused here for what its standard allows", async () => {
    expect(await judge(TALL, "a-4")).toEqual([]);
    expect(await judge("#set page(height: ", "a-2b")).toEqual([]);
  });
});

describe("what is right is left alone", () => {
  it.each(EXAMPLE_NAMES)("the example %s", async (name) => {
    const { source, files, data = {}, output }: RenderRequest = JSON.parse(await exampleRequest(name));
    const standards = output !== undefined && "standards" in output ? (output.standards ?? []) : [];
    expect(await saidOf(source, { data: JSON.stringify(data), files: requestFiles(files), standards })).toEqual([]);
  });

  it.each(MISTAKES.filter(({ right }) => right !== undefined))("$right", async ({ right = "", data = {}, files }) => {
    expect(await saidOf(right, { data: JSON.stringify(data), files: textFiles(files) })).toEqual([]);
  });

  it.each(["docs/templates.md", "docs/languages.md"])("each snippet of %s", async (page) => {
    const snippets = snippetsOf(await readFile(page, "utf8"));
    expect(snippets.length).toBeGreaterThan(3);
    for (const { place, request } of snippets) {
      const parts = { data: JSON.stringify(request.data ?? {}), files: requestFiles(request.files) };
      expect(await saidOf(request.source, parts), place).toEqual([]);
    }
  });

  it.each([
    ["a package, which the deployment may have", '#import "@preview/cetz:0.4.0": canvas\n#canvas()'],
    ["a font that only the deployment has", '#set text(font: "Foo")\n$x$ `y`'],
    ["a label of digits, a hyphen in a name", '#set heading(numbering: "1")\n= A <1-a>\n@1-a\n#let a-b = 1\n#a-b'],
    ["an address in a link, an escaped one", '#link("mailto:a@b.example")[a\\@b.example] `a@b`'],
    [
      "rules for the document at the end of a block",
      '#[#set document(title: "a")]\n#if true { set page(flipped: true) }',
    ],
    ["brackets in text and code", 'a) b\\] ( \\[ `[(` #raw("{")'],
  ])("%s", async (_, source) => {
    expect(await saidOf(source, {})).toEqual([]);
  });

  it("what init makes", async () => {
    const folder = join(await makeTemporaryFolder("init-test-"), "letter");
    await execa(process.execPath, ["clients/command-line/main.ts", "init", folder]);
    const keys = ["lib/letter.typ", "assets/logo.svg"];
    const files = await Promise.all(keys.map(async (key) => ({ key, bytes: await readFile(join(folder, key)) })));
    const [source = "", data = ""] = await Promise.all(
      ["main.typ", "data.json"].map((name) => readFile(join(folder, name), "utf8")),
    );
    expect(await saidOf(source, { data, files })).toEqual([]);
  });
});
