/** A dry run ends as the run itself would before it sends anything: with the same findings and the same exit code. */
import { beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { makeProject, type ProjectFiles, runCommand } from "../../support/clients/command-line.ts";
import { type ScriptedService, sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";

const SCHEMA = '{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}';
const LIMIT = DEFAULT_LIMITS.max_inline_file_bytes;
const SOURCE = { "a.typ": "= #data.name" };
const EACH = ["--each", "p.jsonl", "-o", "out/{#}.pdf"];
const longString = JSON.stringify({ name: "x".repeat(DEFAULT_LIMITS.max_string_bytes + 1) });

const rows = (count: number, wrong: (index: number) => boolean) =>
  Array.from({ length: count }, (_, index) => (wrong(index) ? longString : `{"name":"${index}"}`)).join("\n");

/** [what is tried, exit code, files, arguments after the source] */
const CASES: readonly (readonly [what: string, exitCode: number, files: ProjectFiles, args: readonly string[]])[] = [
  ["a project without a mistake", 0, SOURCE, []],
  ["pages in the wrong order", 3, SOURCE, ["--pages", "5-2"]],
  ["pages that are none", 3, SOURCE, ["--pages", "a"]],
  ["two standards that exclude each other", 3, SOURCE, ["--standards", "ua-1,a-4"]],
  ["a standard named twice", 2, SOURCE, ["--standards", "a-2b,a-2b"]],
  ["a version that the standard does not have", 3, SOURCE, ["--standards", "a-2b", "--pdf-version", "1.4"]],
  ["pages of a tagged standard", 3, SOURCE, ["--standards", "ua-1", "--pages", "1"]],
  ["pages of an image without an archive", 3, SOURCE, ["--format", "png", "--pages", "1"]],
  ["a page of an archive", 3, SOURCE, ["--format", "svg", "--page", "1", "--archive"]],
  ["a file at its limit", 0, { ...SOURCE, "f/b.bin": "x".repeat(LIMIT) }, ["--files", "f"]],
  ["a file over its limit", 4, { ...SOURCE, "f/b.bin": "x".repeat(LIMIT + 1) }, ["--files", "f"]],
  ["a source over its limit", 4, { "a.typ": "x".repeat(DEFAULT_LIMITS.max_template_source_bytes + 1) }, []],
  ["a key with a space", 3, { ...SOURCE, "f/a b.txt": "x" }, ["--files", "f"]],
  ["keys that differ by their case", 3, { ...SOURCE, "f/a.txt": "x", "f/A.txt": "x" }, ["--files", "f"]],
  ["a string over its limit", 3, { ...SOURCE, "d.json": longString }, ["-d", "d.json"]],
  ["data that do not fit the schema", 3, { ...SOURCE, "d.json": "5", "data.schema.json": SCHEMA }, ["-d", "d.json"]],
  ["no data, which the schema needs", 3, { ...SOURCE, "data.schema.json": SCHEMA }, []],
  ["a schema that is none", 2, { ...SOURCE, "d.json": "{}", "data.schema.json": '{"type":"x"}' }, ["-d", "d.json"]],
  ["data that are not JSON", 2, { ...SOURCE, "d.json": "{" }, ["-d", "d.json"]],
  ["--strict, and a service that does not say its fonts", 7, SOURCE, ["--strict"]],
  ["rows without a mistake", 0, { ...SOURCE, "p.jsonl": rows(3, () => false) }, EACH],
  ["rows of which one is refused", 8, { ...SOURCE, "p.jsonl": rows(3, (index) => index === 1) }, EACH],
  ["rows of which the first ten are refused", 3, { ...SOURCE, "p.jsonl": rows(12, (index) => index < 10) }, EACH],
  ["rows that are all refused", 8, { ...SOURCE, "p.jsonl": rows(2, () => true) }, EACH],
  ["rows for an impossible output", 8, { ...SOURCE, "p.jsonl": rows(2, () => false) }, [...EACH, "--pages", "3-1"]],
  ["a row that does not fit the schema", 3, { ...SOURCE, "p.jsonl": '{"name":5}', "data.schema.json": SCHEMA }, EACH],
];

describe("--dry-run ends as the run itself, and sends nothing, for", () => {
  let service: ScriptedService;
  beforeEach(async () => {
    service = await startScriptedService(sendPdf);
  });

  it.each(CASES)("%s", async (_what, exitCode, files, args) => {
    const options = { env: { SERVICE_URL: service.url } };
    const folder = await makeProject(files);
    const dry = await runCommand(folder, ["render", "a.typ", ...args, "--dry-run"], options);
    expect(service.requests).toHaveLength(0);
    const real = await runCommand(folder, ["render", "a.typ", ...args], options);
    expect([dry.exitCode, real.exitCode]).toEqual([exitCode, exitCode]);
    // What a run says at its end of the documents that it has made.
    if (exitCode === 0) expect(dry.stdout).toMatch(/\nNothing was sent\.\n$/);
    else expect(findingsOf(dry.stderr)).toBe(findingsOf(real.stderr));
  });

  it("a row that is refused, in JSON", async () => {
    const folder = await makeProject({ ...SOURCE, "p.jsonl": rows(3, (index) => index === 1) });
    const run = async (...more: string[]) => {
      const args = ["render", "a.typ", ...EACH, "--json", ...more];
      const { stdout } = await runCommand(folder, args, { env: { SERVICE_URL: service.url } });
      return stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    };
    const [problem, planned] = await run("--dry-run");
    expect(planned).toMatchObject({ outcome: "planned", failed: 1, others: 2 });
    expect(await run()).toContainEqual(problem);
  });

  it("rows that are there, which it does not judge", async () => {
    const folder = await makeProject({ ...SOURCE, "p.jsonl": rows(2, () => true), "out/1.pdf": "x", "out/2.pdf": "x" });
    const options = { env: { SERVICE_URL: service.url } };
    expect((await runCommand(folder, ["render", "a.typ", ...EACH, "--dry-run"], options)).exitCode).toBe(0);
    const again = ["render", "a.typ", ...EACH, "--overwrite", "--dry-run"];
    expect((await runCommand(folder, again, options)).exitCode).toBe(8);
  });

  it("the limits that the service last published, and says whose they are", async () => {
    const small = await startScriptedService(sendPdf, { ...DEFAULT_LIMITS, max_template_source_bytes: 20 });
    const options = { env: { SERVICE_URL: small.url } };
    const folder = await makeProject({ "a.typ": "x".repeat(21) });
    const before = await runCommand(folder, ["render", "a.typ", "--dry-run"], options);
    expect(before.stdout).toContain(
      `\nnote: ${small.url} has not been asked for its limits yet, so those of a new deployment apply here. \`constraints\` asks.\n`,
    );
    expect(before.exitCode).toBe(0);
    await runCommand(folder, ["constraints"], options);
    const { stdout, exitCode } = await runCommand(folder, ["render", "a.typ", "--dry-run"], options);
    expect(stdout).not.toContain("note: ");
    expect(exitCode).toBe(4);
  });
});

/** Without what only the run says: the count of its documents, and what to do next. */
function findingsOf(stderr: string): string {
  return stderr.replace(/^[0-9]+ of [0-9]+ documents (?:rendered|would)[\s\S]*/m, "").replace(/^note: .*\n/gm, "");
}
