/** `--input` and `--data-as-input`: what a template reads as `sys.inputs` is what bare Typst would give it. */
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ANY_CHARACTER } from "../../../support/any-character.ts";
import { typstPath } from "../../../support/backend/typst-path.ts";
import { makeProject, type ProjectFiles, runCommand, runnerInProjects } from "../../../support/clients/command-line.ts";
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

it("inputs reach a source with a byte order mark", async () => {
  const source = '\ufeff#assert.eq(sys.inputs.n, "1")';
  expect((await check({ "main.typ": source }, ".", "--input", "n=1")).exitCode).toBe(0);
});

it("inputs reach the service", async () => {
  const service = await sharedService();
  const render = runnerInProjects(() => service.edge.url.origin);
  const files = { "main.typ": '#import "a.typ": n\n#assert.eq(n, "ä\\"")', "a.typ": "#let n = sys.inputs.n" };
  expect(await render(files, ["render", ".", "--input", 'n=ä"'])).toMatchObject({ exitCode: 0 });
});

it("test notes that sys.inputs is empty, and gives its cases inputs, too", async () => {
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
