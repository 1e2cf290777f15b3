/** `--input` and `--data-as-input`: what a template reads as `sys.inputs` is what bare Typst would give it. */
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ANY_CHARACTER } from "../../../support/any-character.ts";
import { typstPath } from "../../../support/backend/typst-path.ts";
import { makeProject, type ProjectFiles, runCommand, runnerInProjects } from "../../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../../support/clients/scripted-service.ts";
import { sharedService } from "../../../support/service/test-service.ts";

async function check(files: ProjectFiles, ...args: string[]) {
  const folder = await makeProject(files);
  return { folder, ...(await runCommand(folder, ["check", ...args])) };
}

const COMPILES = { exitCode: 0, stderr: "main.typ compiles.\n" };

it("hands over any text as it is, under any key", async () => {
  const texts = fc
    .sample(fc.array(ANY_CHARACTER, { maxLength: 12 }), 400)
    .map((characters) => `x${characters.join("")}x`);
  const inputs = new Map(
    texts.map((text, index) => [index < 200 ? `${text.replaceAll("=", "")}` : `key ${index}`, text]),
  );
  const run = await check(
    { "main.typ": "#assert.eq(sys.inputs, data)", "data.json": JSON.stringify(Object.fromEntries(inputs)) },
    ".",
    ...[...inputs].flatMap(([key, value]) => ["--input", `${key}=${value}`]),
  );
  expect(run).toMatchObject(COMPILES);
});

it("reads a pair as Typst does", async () => {
  const pairs = [
    " a = b  c =d ",
    "x=1",
    "x=2",
    "empty=",
    "e = ",
    "nel=\u0085\ufeffx\u0085",
    'data={"a": ["b"]}',
    "line=a\nb",
  ];
  const args = pairs.flatMap((pair) => ["--input", pair]);
  const folder = await makeProject({ "a.typ": "#metadata(sys.inputs) <inputs>" });
  const { stdout } = await execa(typstPath(), [
    "query",
    ...args,
    join(folder, "a.typ"),
    "<inputs>",
    "--field",
    "value",
    "--one",
  ]);
  const run = await check({ "main.typ": "#assert.eq(sys.inputs, data)", "data.json": stdout }, ".", ...args);
  expect(run).toMatchObject(COMPILES);
});

it.each(["a", "=a", " =a"])("--input %j is refused, as by Typst", async (pair) => {
  const { exitCode, stderr } = await check({ "main.typ": "a" }, ".", "--input", pair);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("It must be a key and a value with = between them.");
});

describe("inputs reach", () => {
  it.each([
    '#let all = sys\n#assert.eq(all.inputs.n, "1")',
    '#assert.eq(dictionary(sys).inputs.n, "1")',
    '#let own() = { let sys = (inputs: (n: "own")); sys.inputs.n }\n#assert.eq(own() + sys.inputs.n, "own1")',
    '#import sys as mine\n#assert.eq(mine.inputs.n, "1")',
    '#import sys: *\n#assert.eq(inputs.n, "1")',
  ])("a source that reads them by %s", async (source) => {
    expect(await check({ "main.typ": source }, ".", "--input", "n=1")).toMatchObject(COMPILES);
  });

  it("imported and included files, and the version stays what it is", async () => {
    const run = await check(
      {
        "main.typ":
          '#import "lib/a.typ": a\n#include "b.typ"\n#assert.eq(a, "1")\n#assert.eq(type(sys.version), version)\n#assert.eq(sys.inputs.n, "1")',
        "lib/a.typ": "#let a = sys.inputs.n",
        "b.typ": '#import sys: inputs, version\n#assert.eq(inputs.n, "1")\n#assert.eq(type(version), std.version)',
      },
      "main.typ",
      "--input",
      "n=1",
    );
    expect(run).toMatchObject(COMPILES);
  });

  it("a source below the root, and the files above it", async () => {
    const run = await check(
      {
        "p/lib.typ": "#let a = sys.inputs.n",
        "p/examples/main.typ": '#import "../lib.typ": a\n#assert.eq(a + sys.inputs.n, "11")',
      },
      "p/examples/main.typ",
      "--root",
      "p",
      "--input",
      "n=1",
    );
    expect(run).toMatchObject({ exitCode: 0 });
  });

  it("packages of the request", async () => {
    const run = await check(
      {
        "main.typ": '#import "@local/p:1.0.0": f\n#assert.eq(f(), "1")',
        "packages/local/p/1.0.0/typst.toml": '[package]\nname = "p"\nversion = "1.0.0"\nentrypoint = "src/p.typ"\n',
        "packages/local/p/1.0.0/src/p.typ": "#let f() = sys.inputs.n",
      },
      ".",
      "--input",
      "n=1",
    );
    expect(run).toMatchObject({ exitCode: 0 });
  });

  it("a source with a #! line, a byte order mark, or a file of their name", async () => {
    const source = '#assert.eq(sys.inputs.n, "1")\n#include "sys-inputs.typ"';
    for (const start of ["#!/usr/bin/env typst\n", "\ufeff"]) {
      const run = await check({ "main.typ": start + source, "sys-inputs.typ": "x" }, ".", "--input", "n=1");
      expect(run.exitCode).toBe(0);
    }
  });

  it("the service", async () => {
    const service = await sharedService();
    const render = runnerInProjects(() => service.edge.url.origin);
    const files = { "main.typ": '#import "a.typ": n\n#assert.eq(n, "ä\\"")', "a.typ": "#let n = sys.inputs.n" };
    expect(await render(files, ["render", ".", "--input", 'n=ä"'])).toMatchObject({ exitCode: 0 });
  });
});

it("the lines of errors are those of the author's files", async () => {
  const { stderr } = await check(
    { "main.typ": '#include "a.typ"\n#sys.inputs.n', "a.typ": "#sys.inputs.n\n#panic(sys.inputs.n)" },
    "main.typ",
    "--input",
    "n=1",
  );
  expect(stderr).toContain("┌─ a.typ:2:1");
  expect(stderr).toContain("\n2 │ #panic(sys.inputs.n)");
  expect(stderr).toMatch(/while .* at main\.typ:1:|^error: panicked with: "?1"?/m);
});

it("the file that an input names is sent with a single source", async () => {
  const files = { "a.typ": '#assert.eq(json(sys.inputs.data).n, "1")', "my.json": '{"n": "1"}' };
  expect(await check(files, "a.typ", "--input", "data=my.json")).toMatchObject({ exitCode: 0 });
});

it("--data-as-input hands over the data, of each row, as its own text", async () => {
  const files = {
    "a.typ": '#assert.eq(json(bytes(sys.inputs.data)), data)\n#assert(sys.inputs.data.contains("1.50"))\n#data.n',
    "rows.jsonl": '{"n": 1.50}\n{"n": 1.50, "m": 2}\n',
  };
  const folder = await makeProject(files);
  const args = ["check", "a.typ", "--data-as-input", "data"];
  const each = await runCommand(folder, [...args, "--each", "rows.jsonl"]);
  expect(each).toMatchObject({ exitCode: 0 });
});

describe("it is said", () => {
  const said = async (files: ProjectFiles, ...args: string[]) => (await check(files, ...args)).stderr.split("\n")[0];

  it("that sys.inputs is empty, with each file and line", async () => {
    const files = { "main.typ": '#import "a.typ": n\n#sys.inputs.at("n", default: 1)', "a.typ": "#let n = sys.inputs" };
    const { stderr } = await check(files, ".");
    expect(stderr).toBe(
      [
        "note: main.typ:2 reads sys.inputs, which is empty: pass values with --input KEY=VALUE, or use `data`.",
        "note: a.typ:1 reads sys.inputs, which is empty: pass values with --input KEY=VALUE, or use `data`.",
        "main.typ compiles.",
        "",
      ].join("\n"),
    );
  });

  it("by test, whose cases have inputs, too", async () => {
    const folder = await makeProject({
      "t/main.typ": '#sys.inputs.at("n", default: data.n)',
      "t/cases/a.json": '{"n": "1"}',
    });
    const run = (...args: string[]) => runCommand(folder, ["test", "t", ...args]);
    const updated = await run("--update");
    expect(updated.exitCode).toBe(0);
    expect(updated.stderr).toMatch(/^note: t\/main\.typ:1 reads sys\.inputs, which is empty/);
    expect(await run("--input", "n=1")).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^ok {3}t/) });
    expect((await run("--input", "n=2")).exitCode).toBe(1);
  });

  it("that no source reads the input of --input, or that only a package does, which cannot see the data", async () => {
    const main = '#sys.inputs.at("name", default: "Sample") #data';
    expect(await said({ "main.typ": main }, ".", "--input", "nmae=b")).toBe(
      "note: No source reads the input nmae. Did you mean name?",
    );
    const files = {
      "main.typ": '#import "@local/p:1.0.0"\n#data',
      "packages/local/p/1.0.0/typst.toml": '[package]\nname = "p"\nversion = "1.0.0"\nentrypoint = "p.typ"\n',
      "packages/local/p/1.0.0/p.typ": '#let a = sys.inputs.at("name", default: none)',
    };
    expect(await said(files, ".", "--data-as-input", "name")).toBe(
      "note: No source reads sys.inputs: the inputs change nothing.",
    );
  });

  it("that a source reads std.sys.inputs, which no file can bind", async () => {
    const main = '#sys.version\n#std.sys.inputs.at("a", default: "Sample")';
    expect(await said({ "main.typ": main }, ".", "--input", "a=b")).toBe(
      "note: main.typ:2 reads std.sys.inputs, which --input does not reach: write sys.inputs.",
    );
  });

  it("that no source reads sys.inputs", async () => {
    expect(await said({ "main.typ": "sys.inputs" }, ".", "--input", "a=b")).toBe(
      "note: No source reads sys.inputs: the inputs change nothing.",
    );
  });

  it("by render, too, also in JSON and with --dry-run; packages may have defaults", async () => {
    const service = await startScriptedService(sendPdf);
    const files = { "main.typ": "#sys.inputs", "packages/local/p/1.0.0/p.typ": "#sys.inputs" };
    const folder = await makeProject(files);
    const run = (...args: string[]) =>
      runCommand(folder, ["render", ".", ...args], { env: { SERVICE_URL: service.url } });
    const note = "main.typ:1 reads sys.inputs, which is empty: pass values with --input KEY=VALUE, or use `data`.";
    expect((await run()).stderr).toContain(`note: ${note}\n`);
    expect(JSON.parse((await run("--json")).stdout).notes).toEqual([note]);
    expect((await run("--dry-run")).stdout).toContain(`note: ${note}\n`);
  });
});
