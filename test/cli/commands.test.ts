/** The smaller commands, against the running service where they need one. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { constraintsDocument } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { runCommand, writeProject } from "../support/command-line.ts";
import { readPdf } from "../support/pdf-reader.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

let service: TestService;
let env: Record<string, string>;

beforeAll(async () => {
  service = await startTestService();
  env = { SERVICE_URL: service.edge.url.origin };
  return () => service.stop();
});

async function run(...args: string[]) {
  return runCommand(await makeTemporaryFolder("command-"), args, { env });
}

describe("init", () => {
  it("makes a folder whose README can be followed: check, one letter, all letters", async () => {
    const folder = await makeTemporaryFolder("command-");
    expect((await runCommand(folder, ["init", "post"], { env })).exitCode).toBe(0);
    const post = join(folder, "post");
    const options = { env: { ...env, XDG_CACHE_HOME: join(folder, "cache"), HOME: folder } };
    const checked = await runCommand(post, ["check", "."], options);
    expect(checked.stderr).toBe("main.typ compiles.\n");
    expect((await runCommand(post, ["render", ".", "-o", "letter.pdf"], options)).exitCode).toBe(0);
    const { pageTexts } = await readPdf(await readFile(join(post, "letter.pdf")));
    expect(pageTexts.join("").replace(/\s+/g, "")).toContain("DearAdaMarsh,");
    const all = await runCommand(post, ["render", ".", "--each", "people.jsonl", "-o", "letters/{id}.pdf"], options);
    expect(all.stderr).toBe("3 of 3 documents made.\n");
  });

  it("leaves a folder alone that has something in it", async () => {
    const folder = await makeTemporaryFolder("command-");
    await writeProject(folder, { "post/mine.txt": "x" });
    const { exitCode, stderr } = await runCommand(folder, ["init", "post"]);
    expect(stderr).toBe("post is not empty.\n");
    expect(exitCode).toBe(2);
  });
});

it("constraints shows the limits, and with --json the document of the service", async () => {
  const { stdout } = await run("constraints");
  expect(stdout).toMatch(/max_request_body_bytes +20,971,520 bytes/);
  const json = await run("constraints", "--json");
  expect(JSON.parse(json.stdout)).toEqual(JSON.parse(JSON.stringify(constraintsDocument(DEFAULT_LIMITS))));
});

it("vectors agrees with the service", async () => {
  const { stdout, exitCode } = await run("vectors");
  expect(stdout).toMatch(/^([0-9]+) of \1 vectors agree\n$/);
  expect(exitCode).toBe(0);
});

describe("completion", () => {
  it.each(["bash", "zsh", "fish"])("is a script for %s that the shell can read", async (shell) => {
    const { stdout, exitCode } = await run("completion", shell);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("document-rendering complete");
  });

  it("knows the files where a path is wanted", async () => {
    const folder = await makeTemporaryFolder("command-");
    await writeProject(folder, { "letters/a.typ": "", "letters/b.typ": "", ".hidden": "" });
    const complete = async (...words: string[]) => (await runCommand(folder, ["complete", "--", ...words])).stdout;
    expect(await complete("render", "")).toMatch(/^letters\/\t\n:/);
    expect(await complete("render", "letters/a")).toMatch(/^letters\/a.typ\t\n:/);
    expect(await complete("check", "x.typ", "--data", "letters/")).toMatch(/^letters\/a.typ\t\nletters\/b.typ\t\n:/);
  });

  it("knows commands, options and values", async () => {
    expect((await run("complete", "--", "")).stdout).toContain("constraints\t");
    expect((await run("complete", "--", "render", "--pa")).stdout).toContain("--pages\t");
    expect((await run("complete", "--", "render", "--format", "")).stdout).toMatch(/^pdf\t\npng\t\nsvg\t\n/);
  });
});

it("shows its help and its version, and refuses what it does not know", async () => {
  const help = await run("--help");
  for (const name of ["render", "check", "init", "constraints", "vectors", "doctor", "completion"]) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  }
  expect((await run("--version")).stdout).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+\n$/);
  const wrong = await run("rendr");
  expect(wrong.stderr).toContain("Did you mean render?");
  expect(wrong.exitCode).toBe(2);
});
