/**
 * A source below the root of its project: the document is the one of `typst compile --root`, what Typst says has the
 * author's lines, and nothing outside of the root is sent.
 */
import { chown, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { typstPath } from "../../../support/backend/typst-path.ts";
import {
  makeProject,
  type ProjectFiles,
  runCommand,
  startWatching,
  writeProject,
} from "../../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../../support/clients/scripted-service.ts";
import { readPdf } from "../../../support/readers/pdf-reader.ts";
import { readZip } from "../../../support/readers/zip-reader.ts";
import { sharedService } from "../../../support/service/test-service.ts";

const url = (await sharedService()).edge.url.origin;

/** The folder of the test is its home, so that a project is a folder in it. */
async function inFolder(files: ProjectFiles) {
  const folder = await makeProject(files);
  const run = (args: readonly string[], serviceUrl = url) =>
    runCommand(folder, args, { env: { SERVICE_URL: serviceUrl } });
  return { folder, run };
}

async function plan(files: ProjectFiles, args: readonly string[]) {
  const { folder, run } = await inFolder(files);
  const { stdout, stderr, exitCode } = await run(["render", ...args, "--dry-run"]);
  return {
    folder,
    stderr,
    stdout,
    exitCode,
    sent: [...stdout.matchAll(/^ {2}(?:source|file).* (\S+)$/gm)].map(([, key]) => key),
  };
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

describe("the root is found", () => {
  const SOURCE = { "p/doc/a.typ": '#import "../lib.typ": x', "p/lib.typ": "#let x = 1" };

  it.each(["typst.toml", ".git/HEAD", ".renderignore"])("by %s above", async (mark) => {
    const { sent, stdout, folder } = await plan({ ...SOURCE, [`p/${mark}`]: "" }, ["p/doc/a.typ"]);
    expect(sent).toEqual(["p/doc/a.typ", "lib.typ"]);
    expect(stdout).toContain(`note: The root is ${join(folder, "p")}, because p/doc/a.typ reads "../lib.typ".\n`);
  });

  it("for a path from the root, for the beginning of a computed one, and for one that a wrapper takes", async () => {
    const files = { "p/typst.toml": "", "p/lib.typ": "#let x = 1", "p/img/a.png": dot };
    const found = async (source: string) => (await plan({ ...files, "p/doc/a.typ": source }, ["p/doc/a.typ"])).stdout;
    expect(await found('#import "/lib.typ": x')).toContain("note: The root is");
    expect(await found('#image("../img/" + data.name)')).toContain("note: The root is");
    expect(await found('#logo("/img/a.png")')).toContain("note: The root is");
  });

  it("only if the sources need it: otherwise the request is as ever", async () => {
    const { run } = await inFolder({
      "p/typst.toml": "",
      "p/doc/a.typ": '#import "b.typ": x',
      "p/doc/b.typ": "#let x = 1",
    });
    const service = await startScriptedService(sendPdf);
    expect((await run(["render", "p/doc/a.typ"], service.url)).stderr).not.toContain("note");
    expect(service.bodies).toEqual([
      {
        source: '#import "b.typ": x',
        files: { "b.typ": { encoding: "text", content: "#let x = 1" } },
        output: { format: "pdf" },
      },
    ]);
  });

  it("as the nearest with which all paths lead to something, those of the files that are read as well", async () => {
    const files = {
      "p/typst.toml": "",
      "p/q/typst.toml": "",
      "p/q/doc/a.typ": '#import "../lib.typ": x',
      "p/q/lib.typ": '#import "../top.typ": x',
    };
    expect((await plan(files, ["p/q/doc/a.typ"])).sent).toEqual(["p/q/doc/a.typ", "lib.typ"]);
    const { sent } = await plan({ ...files, "p/top.typ": "#let x = 1" }, ["p/q/doc/a.typ"]);
    expect(sent).toEqual(["p/q/doc/a.typ", "q/lib.typ", "top.typ"]);
  });

  it.each<[string, ProjectFiles]>([
    ["above the repository", { ...SOURCE, "p/typst.toml": "", "p/doc/.git/HEAD": "" }],
    ["without a mark", SOURCE],
  ])("never %s: then a note says which root reaches the file", async (_what, files) => {
    const { stdout, sent } = await plan(files, ["p/doc/a.typ"]);
    expect(sent).toEqual(["p/doc/a.typ"]);
    expect(stdout).toContain('note: p/doc/a.typ:1 reads "../lib.typ", which is above the root; --root p reaches it.\n');
  });

  it("never in the home folder, unless it is named", async () => {
    const files = { "typst.toml": "", ".git/HEAD": "", "doc/a.typ": '#read("../b.txt")', "b.txt": "b" };
    const { sent, stdout } = await plan(files, ["doc/a.typ"]);
    expect(sent).toEqual(["doc/a.typ"]);
    expect(stdout).toContain("--root . reaches it.");
    expect((await plan(files, ["doc/a.typ", "--root", "."])).sent).toEqual(["doc/a.typ", "b.txt"]);
  });

  it.skipIf(process.getuid?.() !== 0)("never in a folder of another user", async () => {
    const { folder, run } = await inFolder({ ...SOURCE, "p/typst.toml": "" });
    await chown(join(folder, "p"), 12345, 12345);
    expect((await run(["render", "p/doc/a.typ", "--dry-run"])).stdout).not.toContain("lib.typ\n");
  });
});

describe("nothing outside of the root is sent", () => {
  const HOSTILE = { "secret.txt": "SECRET", "p/doc/a.typ": '#read("../b.txt")' };

  it.each([
    ["/", /^--root \/ is the whole file system: name the folder of the project\./],
    ["link/..", /^--root link\/\.\. does not hold the source, p\/doc\/a\.typ\./],
    ["to-root", /^--root to-root is the whole file system/],
    ["q", /^--root q does not hold the source/],
    ["secret.txt", /^--root secret\.txt is not a folder\./],
    ["gone", /^--root gone is not a folder\./],
  ])("--root %s is refused", async (root, message) => {
    const { folder, run } = await inFolder({ ...HOSTILE, "p/b.txt": "b", "q/deep/c.txt": "c" });
    await symlink("q/deep", join(folder, "link"));
    await symlink("/", join(folder, "to-root"));
    const service = await startScriptedService(sendPdf);
    const { stderr, exitCode } = await run(["render", "p/doc/a.typ", "--root", root], service.url);
    expect(stderr).toMatch(message);
    expect(exitCode).toBe(2);
    expect(service.requests).toHaveLength(0);
  });

  it.each<[string, string, string]>([
    ["a link to a file", "p/b.txt", "../secret.txt"],
    ["a link to a folder above it", "p/sub", ".."],
  ])("by %s", async (_what, place, target) => {
    const { folder, run } = await inFolder({
      "secret.txt": "SECRET",
      "p/typst.toml": "",
      "p/doc/a.typ": '#read("../b.txt") #read("/sub/secret.txt")',
    });
    await symlink(target, join(folder, place));
    for (const root of [[], ["--root", "p"]]) {
      const service = await startScriptedService(sendPdf);
      const { stderr, exitCode } = await run(["render", "p/doc/a.typ", ...root], service.url);
      expect(stderr).toMatch(/^(?:b|sub\/secret)\.txt is not sent: a link leads out of/);
      expect(exitCode).toBe(2);
      expect(service.requests).toHaveLength(0);
    }
  });

  it("by .. after a link, by a mark that a link makes, or by a path in typst.toml", async () => {
    const { folder, run } = await inFolder({
      "secret.txt": "SECRET",
      "other/deep/x.txt": "x",
      "p/typst.toml": '[template]\npath = "../.."\nentrypoint = "../secret.txt"\n[package]\nentrypoint = "/etc/passwd"',
      "p/lib.typ":
        '#read("../secret.txt") #read("link/../../secret.txt") #read("/../secret.txt") #read("/../../etc/passwd")',
      "p/doc/a.typ": '#import "../lib.typ"',
    });
    await symlink("../other/deep", join(folder, "p/link"));
    const service = await startScriptedService(sendPdf);
    await run(["render", "p/doc/a.typ"], service.url);
    await run(["render", "p/doc/a.typ", "--root", "p"], service.url);
    expect(service.bodies.map(({ files }) => Object.keys(files))).toEqual([
      ["doc/a.typ", "lib.typ"],
      ["doc/a.typ", "lib.typ"],
    ]);
    expect(JSON.stringify(service.bodies)).not.toContain("SECRET");
  });

  it("by a folder of packages that is a link", async () => {
    const { folder, run } = await inFolder({
      "elsewhere/local/x/1.0.0/typst.toml": '[package]\nname = "x"\nversion = "1.0.0"\nentrypoint = "x.typ"\n',
      "elsewhere/local/x/1.0.0/x.typ": "SECRET",
      "p/typst.toml": "",
      "p/doc/a.typ": '#import "@local/x:1.0.0"\n#import "../lib.typ"',
      "p/lib.typ": "",
    });
    const sent = async () => {
      const service = await startScriptedService(sendPdf);
      await run(["render", "p/doc/a.typ"], service.url);
      return JSON.stringify(service.bodies);
    };
    await symlink("../elsewhere", join(folder, "p/packages"));
    expect(await sent()).not.toContain("SECRET");
    await rm(join(folder, "p/packages"));
    await rename(join(folder, "elsewhere"), join(folder, "p/packages"));
    expect(await sent()).toContain("SECRET");
  });

  it("by --files", async () => {
    const { run } = await inFolder({ ...HOSTILE, "p/b.txt": "b" });
    const named = async (...args: string[]) => run(["render", "p/doc/a.typ", ...args, "--dry-run"]);
    expect((await named("--files", "../b.txt")).stderr).toMatch(
      /must be in its folder, .*p\/doc; --root names another one\./,
    );
    expect((await named("--files", "../b.txt", "--root", "p")).stdout).toContain("b.txt");
    expect((await named("--files", "../../secret.txt", "--root", "p")).stderr).toMatch(/must be in its folder/);
  });

  it("by a found root what is hidden or ignored, unless --files names it; by a named root it is", async () => {
    const files = {
      "p/.git/config": "TOKEN",
      "p/.gitignore": "local.yaml",
      "p/.env": "TOKEN",
      "p/local.yaml": "TOKEN",
      "p/lib.typ": "",
      "p/doc/a.typ": '#import "../lib.typ"\n#read("../.env")\n#yaml("../local.yaml")\n#read("/.git/config")',
    };
    const { sent, stdout } = await plan(files, ["p/doc/a.typ"]);
    expect(sent).toEqual(["p/doc/a.typ", "lib.typ"]);
    expect(stdout).toContain(
      'note: p/doc/a.typ:2 reads "../.env", which is hidden or ignored, and above the folder of the source: to send it',
    );
    expect((await plan(files, ["p/doc/a.typ", "--root", "p"])).sent).toContain("local.yaml");
  });
});

it("check --watch checks again when a file above the folder changes", async () => {
  const { folder } = await inFolder({
    "p/typst.toml": "",
    "p/lib.typ": "#let x = 1",
    "p/doc/a.typ": '#import "../lib.typ": x',
  });
  const watch = await startWatching(folder, ["check", "p/doc/a.typ"]);
  await writeFile(join(folder, "p/lib.typ"), "#let y = 1");
  await expect.poll(() => watch.seen).toContain("unresolved import");
  await writeProject(folder, { "p/lib.typ": "#let x = 2" });
  await expect.poll(() => watch.seen).toMatch(/unresolved import[\s\S]*a\.typ compiles\./);
});

it("the command that shows the error has the root", async () => {
  const { run } = await inFolder({ "p/lib.typ": "#panic()", "p/doc/a.typ": '#import "../lib.typ"' });
  const { stderr } = await run(["render", "p/doc/a.typ", "--root", "p"]);
  expect(stderr).toContain("To see the error: ");
  expect(stderr).toContain("check p/doc/a.typ --root p");
});
