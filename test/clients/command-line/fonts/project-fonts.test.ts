/** Which fonts of a project are sent, and under which names: by `render --dry-run`. */
import { describe, expect, it } from "vitest";
import { runnerInProjects } from "../../../support/clients/command-line.ts";
import { characterTable, liberation, nameTable, withTables } from "../../../support/fonts.ts";
import { UNREACHABLE_URL } from "../../../support/tokens.ts";

const inProject = runnerInProjects(() => UNREACHABLE_URL);
const regular = await liberation("Regular");
const font = (family: string) => withTables(regular, { name: nameTable(family) });
/** With the one character U+5C71. */
const mountain = withTables(regular, { name: nameTable("Mountain"), cmap: characterTable([0x5c71, 0x5c71]) });

async function plan(files: Readonly<Record<string, string | Buffer>>, args = ["a.typ"]) {
  const { stdout, stderr } = await inProject(files, ["render", ...args, "--dry-run", "--json"]);
  expect(stderr).toBe("");
  const planned = JSON.parse(stdout);
  const sent: string[] = planned.files.filter((file: { part: string }) => file.part === "file").map(pathOf);
  return { sent, unused: planned.unusedFonts as string[] };
}

const pathOf = ({ path }: { path: string }) => path;

describe("a font is sent", () => {
  it("if a source names its family, wherever it is below the root", async () => {
    const files = {
      "a.typ": '#import "theme.typ": *\n#set text(font: ("Own One", "Own Two"))',
      "theme.typ": '#let title-font = "own three"\n#text(font: title-font)[x]',
      "fonts/1.ttf": font("Own One"),
      "template/fonts/2.OTF": font("Own Two"),
      "assets/deep/down/3.ttf": font("Own Three"),
      "fonts/4.ttf": font("Own Four"),
    };
    expect(await plan(files)).toEqual({
      sent: ["assets/deep/down/3.ttf", "fonts/1.ttf", "template/fonts/2.OTF", "theme.typ"],
      unused: ["fonts/4.ttf"],
    });
  });

  it("if the text has characters that it has and Typst's own fonts lack", async () => {
    const sources = ["山", '#"\\u{5C71}"', "#data", '#read("a.txt")'];
    for (const source of sources) {
      const files = { "a.typ": source, "a.txt": "山", "d.json": '"\\u5c71"', "lib/m.ttf": mountain };
      const { sent } = await plan(files, ["a.typ", "-d", "d.json"]);
      expect(sent).toContain("lib/m.ttf");
    }
    expect(await plan({ "a.typ": "é Ω ® → ™ ①", "fonts/m.ttf": mountain })).toEqual({
      sent: [],
      unused: ["fonts/m.ttf"],
    });
  });

  it.each([
    [
      "a dictionary of its sources",
      '#let fonts = (sans: "own one")\n#let title-face = fonts.sans\n#text(font: title-face)[x]',
    ],
    ["its data", "#set text(font: data.font)"],
  ])("wherever it is, if a family is computed and a string of %s is its name", async (_, source) => {
    const files = {
      "a.typ": source,
      "d.json": '{"font":"Own One"}',
      "o/1.ttf": font("Own One"),
      "o/2.ttf": font("Own Two"),
    };
    expect(await plan(files, ["a.typ", "-d", "d.json"])).toMatchObject({ sent: ["o/1.ttf"] });
  });

  it.each([
    ["is computed", '#set text(font: "Own " + style)'],
    ["is data", "#set text(font: data.font)"],
    ["may be among arguments", "#set text(..data)"],
    ["may be named by a package that is not here", '#import "@preview/nowhere:1.0.0"'],
  ])("from fonts/ if a family %s", async (_, source) => {
    const { sent } = await plan({ "a.typ": source, "fonts/1.ttf": font("Own One"), "other/2.ttf": font("Own Two") });
    expect(sent).toEqual(["fonts/1.ttf"]);
  });

  it("and is not if the family is given by a string, that of Typst or of the service", async () => {
    const source =
      '#let body-font = "Inter"\n#let letter(font: none, body) = { set text(font: font) }\n#set text(font: body-font)\n#letter(font: "Libertinus Serif")[x]';
    expect(await plan({ "a.typ": source, "fonts/1.ttf": font("Own One") })).toEqual({
      sent: [],
      unused: ["fonts/1.ttf"],
    });
  });

  it("if --files names it, whatever it is for", async () => {
    const files = { "a.typ": "x", "fonts/1.ttf": font("Own One"), "fonts/2.ttf": font("Own Two") };
    expect(await plan(files, ["a.typ", "--files", "fonts/2.ttf"])).toEqual({
      sent: ["fonts/2.ttf"],
      unused: ["fonts/1.ttf"],
    });
    expect((await plan(files, ["a.typ", "--files", "fonts"])).sent).toEqual(["fonts/1.ttf", "fonts/2.ttf"]);
  });

  it("of a folder by the same rules, and never if it is ignored", async () => {
    const files = {
      "letter/main.typ": '#set text(font: ("Own One", "Own Two"))',
      "letter/1.ttf": font("Own One"),
      "letter/other.ttf": font("Other"),
      "letter/private/2.ttf": font("Own Two"),
      "letter/.renderignore": "private\n",
    };
    expect(await plan(files, ["letter"])).toEqual({ sent: ["1.ttf"], unused: ["other.ttf"] });
  });

  it("under another name if its own cannot be a key", async () => {
    const files = {
      "a.typ": '#set text(font: "Open Sans")',
      "fonts/Open Sans/Open Sans.ttf": font("Open Sans"),
      "fonts/Open-Sans/Open-Sans.ttf": font("Open Sans"),
      "fonts/Größe/b.ttf": font("Open Sans"),
    };
    const { sent } = await plan(files);
    expect(sent).toEqual(["fonts/Groesse/b.ttf", "fonts/Open-Sans/Open-Sans-2.ttf", "fonts/Open-Sans/Open-Sans.ttf"]);
  });

  it("although it is none, so that the caller is told", async () => {
    const { stdout } = await inProject({ "a.typ": "x", "fonts/1.ttf": "wOF2" }, ["render", "a.typ", "--dry-run"]);
    expect(stdout).toContain("note: fonts/1.ttf is WOFF2, which Typst does not read");
  });
});

it("--dry-run says which fonts are left out", async () => {
  const files = {
    "a.typ": "x",
    "fonts/1.ttf": font("Own One"),
    "fonts/2.ttf": font("Own Two"),
    "fonts/3.ttf": font("C"),
  };
  const { stdout } = await inProject(files, ["render", "a.typ", "--dry-run"]);
  expect(stdout).toContain(
    "Left out, because no source names their family or needs their characters: fonts/1.ttf and 2 more fonts. --files sends them.",
  );
});

it("equal errors of a request are one line that counts them", async () => {
  const names = Array.from({ length: 20 }, (_, index) => [`images/a ${index}.png`, "x"]);
  const { stderr } = await inProject({ "a.typ": "x", ...Object.fromEntries(names) }, [
    "check",
    "a.typ",
    "--files",
    "images",
  ]);
  const lines = stderr.split("\n").filter((line) => /^ {2}files: a key must not contain spaces/.test(line));
  expect(lines).toEqual([expect.stringMatching(/\(20 times\)$/)]);
});
