/** Packages among the files of a request. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SentFile, textFile } from "../../support/backend/request-files.ts";
import {
  expectNothingLeft,
  startSharedBackend,
  startTemporaryBackend,
  type TestBackend,
} from "../../support/backend/test-backend.ts";
import { eachSandbox, MODES } from "../../support/backend/test-sandbox.ts";
import { expectProblem } from "../../support/problems.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

type Files = Readonly<Record<string, SentFile>>;

const LETTER = "packages/preview/letter/1.0.0";
const SOURCE = '#import "@preview/letter:1.0.0": greeting\n#greeting';

function manifest(name: string, entrypoint = "lib.typ"): SentFile {
  return textFile(`[package]\nname = "${name}"\nversion = "1.0.0"\nentrypoint = "${entrypoint}"\n`);
}

/** A package that imports another, which reads a file of its own by a path from its root. */
const FILES = {
  [`${LETTER}/typst.toml`]: manifest("letter", "src/template.typ"),
  [`${LETTER}/src/template.typ`]: textFile(
    '#import "@local/words:1.0.0": word\n#import "../parts/end.typ": end\n#let greeting = word + end',
  ),
  [`${LETTER}/parts/end.typ`]: textFile('#let end = "!"'),
  "packages/local/words/1.0.0/typst.toml": manifest("words", "deep/er/lib.typ"),
  "packages/local/words/1.0.0/deep/er/lib.typ": textFile('#let word = read("/word.txt")'),
  "packages/local/words/1.0.0/word.txt": textFile("of the request"),
} satisfies Files;

async function textOf(backend: TestBackend, files: Files, source = SOURCE): Promise<string> {
  return (await readPdf(await backend.renderFile({ source, files }))).pageTexts.join();
}

async function operatorFolder(): Promise<string> {
  const folder = await makeTemporaryFolder("operator-test-");
  const place = join(folder, "preview/letter/1.0.0");
  await mkdir(place, { recursive: true });
  await writeFile(join(place, "typst.toml"), manifest("letter").content);
  await writeFile(join(place, "lib.typ"), '#let greeting = "of the operator"');
  await writeFile(join(place, "secret.txt"), "of the operator");
  return folder;
}

eachSandbox(describe, MODES)("in %s", (sandbox) => {
  const start = (settings: Readonly<Record<string, string>> = {}) =>
    startTemporaryBackend({ SERVICE_SANDBOX: sandbox, ...settings });

  it("a package of the files is imported by its name, imports another and reads its own files, in that request alone", async () => {
    const backend = await start();
    await expectProblem(await backend.render({ source: SOURCE }), "template_compile_failed");
    expect(await textOf(backend, FILES)).toBe("of the request!");
    await expectProblem(await backend.render({ source: SOURCE }), "template_compile_failed");
    await expectNothingLeft(backend);
  });

  it("a package of the files has priority over the operator's, which others still get, and may import it", async () => {
    const packages = await operatorFolder();
    const before = await readdir(packages, { recursive: true });
    const backend = await start({ SERVICE_PACKAGE_PATH: packages });
    expect(await textOf(backend, {})).toBe("of the operator");
    expect(await textOf(backend, FILES)).toBe("of the request!");
    expect(await textOf(backend, {})).toBe("of the operator");
    const files = {
      "packages/local/outer/1.0.0/typst.toml": manifest("outer"),
      "packages/local/outer/1.0.0/lib.typ": textFile(SOURCE),
    };
    expect(await textOf(backend, files, '#include "@local/outer:1.0.0"')).toBe("of the operator");
    expect(await readdir(packages, { recursive: true })).toEqual(before);
  });

  it("a warm process finds the packages of the request that it gets, and the operator's for the next", async () => {
    const backend = await start({ SERVICE_PACKAGE_PATH: await operatorFolder(), SERVICE_WARM_RENDERS: "1" });
    const taken = () => backend.metric("service_warm_renders_used_total");
    const isWaiting = () => expect.poll(async () => (await backend.projects()).length).toBe(1);
    expect(await textOf(backend, {})).toBe("of the operator");
    for (const [index, [files, text]] of (
      [
        [FILES, "of the request!"],
        [{}, "of the operator"],
      ] as const
    ).entries()) {
      await isWaiting();
      expect(await textOf(backend, files)).toBe(text);
      expect(await taken()).toBe(index + 1);
    }
  });

  it("a package reads files neither of the project around it nor of another package", async () => {
    const backend = await start({ SERVICE_PACKAGE_PATH: await operatorFolder() });
    for (const path of ["/secret.txt", "../../../../secret.txt", "../../words/1.0.0/word.txt", "/:data.json"]) {
      const files = {
        ...FILES,
        "secret.txt": textFile("of the project"),
        [`${LETTER}/parts/end.typ`]: textFile(`#let end = read("${path}")`),
      };
      await expectProblem(await backend.render({ source: SOURCE, files }), "template_compile_failed");
    }
  });
});

describe("below packages/", async () => {
  const backend = await startSharedBackend();

  it("a package is complete in itself: nothing is filled in from the operator's", async () => {
    const withOperator = await startTemporaryBackend({ SERVICE_PACKAGE_PATH: await operatorFolder() });
    const files = { [`${LETTER}/other.typ`]: textFile("") };
    await expectProblem(await withOperator.render({ source: SOURCE, files }), "template_compile_failed");
    const whole = {
      [`${LETTER}/typst.toml`]: manifest("letter"),
      [`${LETTER}/lib.typ`]: textFile('#let greeting = read("secret.txt")'),
    };
    await expectProblem(await withOperator.render({ source: SOURCE, files: whole }), "template_compile_failed");
  });

  it.each([
    "packages",
    "packages/a.typ",
    "packages/preview/a.typ",
    "packages/preview/letter/1.0.0",
    "packages/a/b/c/d/e/f/a.typ",
  ])("%s is a file like any other", async (key) => {
    expect(await textOf(backend, { [key]: textFile("a file") }, `#read("${key}")`)).toBe("a file");
    await expectProblem(
      await backend.render({ source: SOURCE, files: { [key]: textFile("") } }),
      "template_compile_failed",
    );
    await expectNothingLeft(backend);
  });

  it("a package is found where its document is compiled a second time, for one of its pages", async () => {
    const body = { source: `${SOURCE}\n#pagebreak()\n#greeting`, files: FILES };
    for (const output of [
      { format: "pdf", pages: "2" },
      { format: "svg", archive: "zip", pages: "2" },
    ]) {
      await backend.renderFile({ ...body, output });
    }
  });

  it("names count with their case, and the version exactly", async () => {
    const moved = (from: string, to: string) =>
      Object.fromEntries(Object.entries(FILES).map(([key, file]) => [key.replace(from, to), file]));
    for (const [from, to] of [
      ["packages/", "Packages/"],
      ["letter/", "Letter/"],
      ["1.0.0/", "1.0.1/"],
      ["preview/", "local/"],
    ] as const) {
      await expectProblem(await backend.render({ source: SOURCE, files: moved(from, to) }), "template_compile_failed");
    }
  });
});
