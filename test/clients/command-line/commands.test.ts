/** The smaller commands, against the running service where they need one. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandToCopy } from "../../../clients/command-line/terminal.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { makeProject, runCommand } from "../../support/clients/command-line.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const env = { SERVICE_URL: (await sharedService()).edge.url.origin };

async function run(...args: string[]) {
  return runCommand(await makeTemporaryFolder("command-"), args, { env });
}

describe("init", () => {
  it("makes a folder whose README can be followed, and sends what it says: check, one letter, all letters", async () => {
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
    expect(all.stderr).toBe("3 of 3 documents rendered.\n");
    expect(await readFile(join(post, "README.md"), "utf8")).toContain("those that the letter reads are sent");
    await writeFile(join(post, "notes.txt"), "Nothing reads this.");
    const { stdout } = await runCommand(post, ["render", ".", "--dry-run"], options);
    expect(stdout).toMatch(/ lib\/letter\.typ$/m);
    expect(stdout).not.toContain("notes.txt");
  });

  it("shows a command that can be copied, as this one was called", async () => {
    const folder = await makeTemporaryFolder("command-");
    const named = await runCommand(folder, ["init", "My letter"], { env });
    expect(named.stdout).toContain("\n  document-rendering render 'My letter'\n");
    const byNpx = await runCommand(folder, ["init", "post"], { env: { ...env, npm_command: "exec" } });
    expect(byNpx.stdout).toContain("\n  npx document-rendering render post\n");
  });

  it("leaves a folder alone that is not empty", async () => {
    const folder = await makeProject({ "post/mine.txt": "x" });
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

it("shows its help and its version, and refuses unknown commands and options", async () => {
  const help = await run("--help");
  for (const name of ["render", "check", "init", "constraints", "doctor"]) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  }
  expect((await run("--version")).stdout).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+\n$/);
  const wrong = await run("rendr");
  expect(wrong.stderr).toContain("Did you mean render?");
  expect(wrong.exitCode).toBe(2);
});

it.each([
  ["linux", "it's a.pdf", "'it'\\''s a.pdf'"],
  ["darwin", "*.typ", "'*.typ'"],
  ["win32", "out\\a.pdf", "out\\a.pdf"],
  ["win32", "it's *.typ", `"it's *.typ"`],
] as const)("a command to copy is quoted for the shells of %s: %s", (platform, path, quoted) => {
  // Whether it begins with `npx` depends on how the tests were started.
  expect(commandToCopy(["render", path], platform).split(" render ")[1]).toBe(quoted);
});
