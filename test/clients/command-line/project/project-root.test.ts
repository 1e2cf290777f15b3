/**
 * A source below the root of its project: the document is the one of `typst compile --root`, and what Typst says has the
 * author's lines.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { typstPath } from "../../../support/backend/typst-path.ts";
import { makeProject, type ProjectFiles, runCommand } from "../../../support/clients/command-line.ts";
import { readPdf } from "../../../support/readers/pdf-reader.ts";
import { readZip } from "../../../support/readers/zip-reader.ts";
import { sharedService } from "../../../support/service/test-service.ts";

const url = (await sharedService()).edge.url.origin;

/** The folder of the test is its home, so that a project is a folder in it. */
async function inFolder(files: ProjectFiles) {
  const folder = await makeProject(files);
  const run = (args: readonly string[]) => runCommand(folder, args, { env: { SERVICE_URL: url } });
  return { folder, run };
}

const LIBRARY = `#let letter(title, body) = {
  set document(title: title)
  set page(width: 9cm, height: 7cm, margin: 1cm, numbering: "1 / 1", header: image("/img/dot.png", width: 3mm))
  set heading(numbering: "1.")
  outline()
  body
}
`;
const DOCUMENT = `#import "../../src/lib.typ": letter
#show: letter.with[Title]
= First <first>
See @second and @fig, @book.#footnote[A note.]
#figure(image("own.png", width: 1cm), caption: [A figure]) <fig>
#include "part.typ"
#context counter(page).final()
#bibliography("/refs.bib")
#pagebreak()
`;
const dot = PNG.sync.write(Object.assign(new PNG({ width: 2, height: 2 }), { data: Buffer.alloc(16, 200) }));
const PROJECT = {
  "p/src/lib.typ": LIBRARY,
  "p/img/dot.png": dot,
  "p/refs.bib": "@book{book, title = {A book}, author = {A. Author}, date = {2020}}\n",
  "p/a/doc/own.png": dot,
  "p/a/doc/part.typ": "= Second <second>\n#lorem(60)",
  "p/typst.toml": "",
};

describe("the document of a source below the root is that of typst compile --root, pixel for pixel", () => {
  it.each<[string, string]>([
    ["of many kinds of references", DOCUMENT],
    ["below a #! line", `#!/usr/bin/env typst\n${DOCUMENT}`],
    ["after a byte order mark and empty lines", `\ufeff\n\n\n${DOCUMENT}`],
    ["with lines of CR LF", DOCUMENT.replaceAll("\n", "\r\n")],
    [
      "that begins with a page of its own and ends with an empty one",
      '#set page("a8")\n#[a]\n#set page("a9")\n#image("/img/dot.png")#pagebreak()',
    ],
    [
      "that begins with a heading and speaks of data",
      '= On data\n#import "/src/lib.typ": letter\n#set page("a8")\nThe request.',
    ],
  ])("%s", async (_what, source) => {
    const { folder, run } = await inFolder({ ...PROJECT, "p/a/doc/main.typ": source });
    const output = ["--format", "png", "--archive", "--ppi", "72"];
    for (const [place, root] of [
      ["found.zip", []],
      ["named.zip", ["--root", "p"]],
    ] as const) {
      const { exitCode, stderr } = await run(["render", "p/a/doc/main.typ", ...root, ...output, "-o", place]);
      expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`${place}: `)]);
      expect(stderr.includes(`note: The root is ${join(folder, "p")}, because`)).toBe(root.length === 0);
    }
    await execa(
      typstPath(),
      ["compile", "--root", "p", "--ignore-system-fonts", "--ppi", "72", "p/a/doc/main.typ", "p/{p}.png"],
      { cwd: folder },
    );
    const expected = (await readdir(join(folder, "p"))).filter((name) => name.endsWith(".png")).sort();
    for (const place of ["found.zip", "named.zip"]) {
      const pages = await readZip(await readFile(join(folder, place)));
      expect(pages).toHaveLength(expected.length);
      for (const [index, { bytes }] of pages.entries()) {
        const bare = PNG.sync.read(await readFile(join(folder, "p", expected[index] ?? "")));
        expect(PNG.sync.read(Buffer.from(bytes)).data.equals(bare.data)).toBe(true);
      }
    }
  });
});

describe("data reaches a source below the root", () => {
  const FILES = {
    "p/lib.typ": "#let show-it(value) = repr(value)",
    "p/doc/main.typ": '#import "../lib.typ": show-it\n#show-it((data, request.number))',
    "p/doc/data.json": '{"number": 9007199254740993}',
    "p/.renderignore": "",
  };

  it("with every digit, from its data.json, --data or a row", async () => {
    const { folder, run } = await inFolder({ ...FILES, "rows.jsonl": '{"number": 1}\n{"number": 2}' });
    expect((await run(["render", "p/doc", "-o", "1.pdf"])).exitCode).toBe(0);
    expect((await run(["check", "p/doc/main.typ", "-d", "p/doc/data.json", "-o", "2.pdf"])).exitCode).toBe(0);
    expect((await run(["render", "p/doc", "--each", "rows.jsonl", "-o", "row-{number}.pdf"])).exitCode).toBe(0);
    expect((await run(["check", "p/doc", "--each", "rows.jsonl", "--root", "p"])).exitCode).toBe(0);
    const textOf = async (name: string) => (await readPdf(await readFile(join(folder, name)))).pageTexts.join("");
    expect(await textOf("1.pdf")).toBe("((number: 9007199254740993), 9007199254740993)");
    expect(await textOf("2.pdf")).toBe(await textOf("1.pdf"));
    expect(await textOf("row-2.pdf")).toBe("((number: 2), 2)");
  });

  it("and its cases", async () => {
    const { run } = await inFolder({ ...FILES, "p/doc/cases/one.json": '{"number": 5}' });
    expect((await run(["test", "p/doc", "--update"])).exitCode).toBe(0);
    expect((await run(["test", "p/doc", "--root", "p", "--url", url])).stderr).toContain("1 of 1 cases passed.");
  });
});

describe("what Typst says of a source below the root", () => {
  const LIB = { "p/lib.typ": '#let fail() = panic("no")\n', "p/.git/HEAD": "" };

  it.each([
    ["with data", '#import "../lib.typ": fail\n= Title #data\n\n  #oops(1)'],
    ["without data", '#import "../lib.typ": fail\n= Title\n\n  #oops(1)'],
    ["below a #! line", '#!typst\n#import "../lib.typ": fail; #data\n\n  #oops(1)'],
    ["after a byte order mark", '\ufeff#import "../lib.typ": fail\n#data\n\n  #oops(1)'],
  ])("has the line and the column of the author: %s", async (_what, source) => {
    const { run } = await inFolder({ ...LIB, "p/doc/a.typ": source });
    const { stderr, exitCode } = await run(["check", "p/doc/a.typ"]);
    expect(stderr.slice(stderr.indexOf("error:")).split("\n")).toEqual([
      "error: unknown variable: oops",
      "  ┌─ p/doc/a.typ:4:3",
      "  │",
      "4 │   #oops(1)",
      "  │    ^^^^",
      "",
    ]);
    expect(exitCode).toBe(4);
  });

  it("in the first line too, and of the way to another file", async () => {
    const { run } = await inFolder({ ...LIB, "p/doc/a.typ": '#data #import "../lib.typ": fail; #fail()' });
    const { stderr } = await run(["check", "p/doc/a.typ"]);
    expect(stderr).toContain("┌─ p/lib.typ:1:14");
    expect(stderr).toContain("while calling `fail` at p/doc/a.typ:1:35");
    expect(stderr).not.toContain("stdin");
    const { stdout } = await run(["check", "p/doc/a.typ", "--json"]);
    expect(JSON.parse(stdout).diagnostics).toMatchObject([{ file: "p/lib.typ", line: 1, column: 14 }]);
  });
});

it("the command that shows the error has the root", async () => {
  const { run } = await inFolder({ "p/lib.typ": "#panic()", "p/doc/a.typ": '#import "../lib.typ"' });
  const { stderr } = await run(["render", "p/doc/a.typ", "--root", "p"]);
  expect(stderr).toContain("To see the error: ");
  expect(stderr).toContain("check p/doc/a.typ --root p");
});
