/** Packages of a project: documents are made with them, and what is said of those that are nowhere. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { capabilitiesOf } from "../../../../protocol/capabilities.ts";
import {
  makeProject,
  makeTimeout,
  type ProjectFiles,
  runCommand,
  startWatching,
} from "../../../support/clients/command-line.ts";
import { answer, sendPdf, startScriptedService } from "../../../support/clients/scripted-service.ts";
import { readPdf } from "../../../support/readers/pdf-reader.ts";
import { sharedService } from "../../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../../support/tokens.ts";

const { edge } = await sharedService();
const real = edge.url.origin;

const DATA = ".local/share/typst/packages";
const CACHE = ".cache/typst/packages";

function manifest(name: string, more = "", version = "1.0.0"): string {
  return `[package]\nname = "${name}"\nversion = "${version}"\nentrypoint = "lib.typ"\n${more}`;
}

/** A project with a package of its user that imports one that Typst has downloaded. */
const FILES = {
  "letter.typ": '#import "@local/letter:1.0.0": greeting\n#greeting',
  [`${DATA}/local/letter/1.0.0/typst.toml`]: manifest(
    "letter",
    'exclude = ["plans/*"]\n[template]\npath = "start"\nentrypoint = "main.typ"\nthumbnail = "look.png"\n',
  ),
  [`${DATA}/local/letter/1.0.0/lib.typ`]:
    '#import "src/more.typ": *\n#import "@preview/words:1.0.0": word\n#let greeting = word + end',
  [`${DATA}/local/letter/1.0.0/src/more.typ`]: '#let end = read("/end.txt")',
  [`${DATA}/local/letter/1.0.0/src/unused.typ`]: "x",
  [`${DATA}/local/letter/1.0.0/end.txt`]: "!",
  [`${DATA}/local/letter/1.0.0/README.md`]: "x",
  [`${DATA}/local/letter/1.0.0/manual.pdf`]: "x",
  [`${DATA}/local/letter/1.0.0/logo.svg`]: "x",
  [`${DATA}/local/letter/1.0.0/start/main.typ`]: "x",
  [`${CACHE}/preview/words/1.0.0/typst.toml`]: manifest("words"),
  [`${CACHE}/preview/words/1.0.0/lib.typ`]: '#let word = "packed"',
} satisfies ProjectFiles;

async function inProject(files: ProjectFiles, args: readonly string[], url = real) {
  const folder = await makeProject(files);
  return { folder, ...(await runCommand(folder, args, { env: { SERVICE_URL: url } })) };
}

describe("a package of this machine", () => {
  it("is sent with what it imports, and the document is made with it", async () => {
    const { folder, exitCode, stderr } = await inProject(FILES, ["render", "letter.typ"]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("letter.pdf: ")]);
    expect((await readPdf(await readFile(join(folder, "letter.pdf")))).pageTexts).toEqual(["packed!"]);
  });

  it("is used by check, test and --each in the same way", async () => {
    const letter = `${FILES["letter.typ"]}\n#data`;
    const rows = '{"id":"a"}\n{"id":"b"}\n';
    const files = { ...FILES, "letter.typ": letter, "rows.jsonl": rows, "cases/one.json": "{}" };
    for (const args of [
      ["check", "letter.typ", "--strict"],
      ["test", "letter.typ", "--update"],
      ["test", "letter.typ", "--update", "--url", real],
      ["check", "letter.typ", "--each", "rows.jsonl"],
      ["render", "letter.typ", "--each", "rows.jsonl", "-o", "out/{id}.pdf"],
    ]) {
      const { exitCode, stderr } = await inProject(files, args);
      expect([args, exitCode, stderr]).toEqual([args, 0, expect.anything()]);
    }
  });
});

it("a project without packages does not wait for what the service has", async () => {
  const silent = await startScriptedService(sendPdf, undefined, () => {});
  const folder = await makeProject({ "letter.typ": "x" });
  const timeout = makeTimeout();
  const running = runCommand(folder, ["render", "letter.typ", ...timeout.args], { env: { SERVICE_URL: silent.url } });
  await expect.poll(() => silent.bodies.length).toBe(1);
  timeout.pass();
  await running;
});

describe("a package that is nowhere", () => {
  const NOWHERE = {
    "letter.typ": '#import "template.typ": t\n#t',
    "template.typ": '\n#import "@preview/of-nobody:0.1.0": t',
    "direct.typ": '#import "@preview/of-nobody:0.1.0": t',
    "own.typ": '#import "@local/of-nobody:0.1.0": t',
  };
  const WHERE = "which template.typ:2 imports.";

  it("is named by render with who imports it and what to do; --strict sends nothing", async () => {
    const { folder, stderr, exitCode } = await inProject(NOWHERE, ["render", "letter.typ"]);
    expect(stderr).toContain(
      `warning: Neither this machine nor the service has @preview/of-nobody:0.1.0, ${WHERE} Compile once with \`typst compile\``,
    );
    expect(stderr).toContain(join(folder, CACHE));
    expect(exitCode).toBe(4);
    const document = JSON.stringify(capabilitiesOf("0.15.1", [], []));
    const capabilities = answer(200, { "Content-Type": "application/json", ETag: '"of-a-test"' }, document);
    const service = await startScriptedService(sendPdf, undefined, capabilities);
    const strict = await inProject(NOWHERE, ["render", "letter.typ", "--strict"], service.url);
    expect(strict.stderr).toContain("@preview/of-nobody:0.1.0");
    expect([strict.exitCode, service.bodies]).toEqual([4, []]);
  });

  it("is named by check in the words of this machine, not of a download, with who imports it", async () => {
    for (const [source, name, importedBy] of [
      ["letter.typ", "@preview/of-nobody:0.1.0", "template.typ:2"],
      ["direct.typ", "@preview/of-nobody:0.1.0", "direct.typ:1"],
      ["own.typ", "@local/of-nobody:0.1.0", "own.typ:1"],
    ] as const) {
      const { stderr, exitCode } = await inProject(NOWHERE, ["check", source]);
      expect(stderr).toContain(`error: ${name} does not exist here\n`);
      expect(stderr).toContain(
        `note: Neither the service nor this machine has ${name}, which ${importedBy} imports. Co`,
      );
      expect(stderr).not.toMatch(/download package|https:|Connect/);
      expect(exitCode).toBe(4);
    }
    const { stderr } = await inProject(NOWHERE, ["check", "letter.typ"], UNREACHABLE_URL);
    expect(stderr).toContain(`note: This machine does not have @preview/of-nobody:0.1.0, ${WHERE}`);
  });

  it("is named by check with all others, those that packages import, and those whose name is computed", async () => {
    const files = { ...FILES, "letter.typ": '#import "@local/letter:1.0.0"\n#import "@preview/second:0.1.0"' };
    const { [`${CACHE}/preview/words/1.0.0/typst.toml`]: _, ...incomplete } = files;
    const { [`${CACHE}/preview/words/1.0.0/lib.typ`]: __, ...without } = incomplete;
    const { stderr } = await inProject(without, ["check", "letter.typ"]);
    expect(stderr).toContain("@preview/words:1.0.0, which @local/letter:1.0.0/lib.typ:2 imports.");
    expect(stderr).toContain("@preview/second:0.1.0, which letter.typ:2 imports.");
    const joined = await inProject({ "letter.typ": '#import "@preview/" + "third:0.1.0"' }, ["check", "letter.typ"]);
    expect(joined.stderr).toContain("has @preview/third:0.1.0, which letter.typ:1 imports. Compile once");
    const source = '#import "@preview/" + lower("THIRD:0.1.0")';
    const computed = await inProject({ "letter.typ": source }, ["check", "letter.typ"]);
    expect(computed.stderr).toContain("has @preview/third:0.1.0. Compile once");
  });
});

it("check --watch checks again when a package of the user changes", async () => {
  const folder = await makeProject({ ...FILES, "p/letter.typ": FILES["letter.typ"] });
  const watch = await startWatching(folder, ["check", "p/letter.typ"]);
  await writeFile(join(folder, DATA, "local/letter/1.0.0/lib.typ"), "#let other = 1");
  await expect.poll(() => watch.seen).toContain("unresolved import");
});
