/**
 * Projects of other people that were made to keep a command busy: every command reads them to their end, or says which
 * limit they exceed.
 */
import { execFile } from "node:child_process";
import { access, lstat, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { makeProject, runCommand, runnerInProjects, startCommand } from "../../../support/clients/command-line.ts";
import { sharedService } from "../../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../../support/tokens.ts";

const url = (await sharedService()).edge.url.origin;

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");

const inProject = runnerInProjects(() => url);

describe("a command ends", () => {
  it("where a source reads files that do not exist, of which it names the first", async () => {
    const files = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`folder-${index}/file-${index}`, ""]));
    const source = lines(10_000, (index) => `#read("missing-${index}")`);
    const { stdout } = await inProject({ ...files, "a.typ": source }, ["render", "a.typ", "--dry-run"]);
    expect(stdout).toContain('note: a.typ:20 reads "missing-19", which does not exist.');
    expect(stdout).not.toContain("missing-20");
    expect(stdout).toContain("note: Of the files that the sources read, 9980 more do not exist.");
  });

  it("where a source has one very long string", async () => {
    const { exitCode } = await inProject({ "a.typ": `#read("${"\\n".repeat(1_000_000)}")` }, [
      ...["render", "a.typ", "--dry-run"],
    ]);
    // The source is larger than any may be.
    expect(exitCode).toBe(4);
  });

  it("where a table has ten thousand columns, and where none of its rows has the member of the file name", async () => {
    const header = Array.from({ length: 10_000 }, (_, index) => `column ${index}`).join();
    const row = Array.from({ length: 10_000 }, () => "1").join();
    const each = ["render", "a.typ", "--each", "rows.csv", "--dry-run", "-o"];
    const files = { "a.typ": "#data", "rows.csv": `${header}\n${row}\n${row}\n` };
    expect((await inProject(files, [...each, "out/{column 0}-{#}.pdf"])).exitCode).toBe(0);
    const rows = lines(
      10_000,
      (index) => `{${Array.from({ length: 20 }, (_, at) => `"${at === 0 ? "naem" : at}": ${index}`).join()}}`,
    );
    const wrong = { "a.typ": "#data", "rows.jsonl": `{"name": "a"}\n${rows}` };
    const { stderr } = await inProject(wrong, ["render", "a.typ", "--each", "rows.jsonl", "-o", "{name}.pdf"]);
    expect(stderr).toContain("… and 9980 more: 22-10001.");
  });

  it("where a source reads more than any service accepts", async () => {
    const large = "x".repeat(40 * 1024 ** 2);
    const files = { "a.typ": '#read("b.txt") #read("c.txt")', "b.txt": large, "c.txt": large };
    const { stderr, exitCode } = await inProject(files, ["render", "a.typ", "--dry-run"]);
    expect(stderr).toMatch(/^request_too_large: the files of the project have 80\.0 MiB; no service accepts/);
    expect(exitCode).toBe(3);
  });

  it("where a schema is larger than any that people write", async () => {
    const files = { "a.typ": "x", "data.schema.json": `{"enum": [${"1,".repeat(600_000)}1]}` };
    const { stderr, exitCode } = await inProject(files, ["render", "a.typ"]);
    expect(stderr).toContain("data.schema.json has 1200013 bytes; the limit is 1048576.");
    expect(exitCode).toBe(2);
  });
});

/** Makes a step of reading a project last for ever, and says when it has begun. */
const ENDLESS_STEP = `
  import { writeFileSync } from "node:fs";
  const { matchAll } = String.prototype;
  String.prototype.matchAll = function (pattern) {
    if (!String(this).includes("ENDLESS")) return matchAll.call(this, pattern);
    writeFileSync(process.env.BEGUN, "");
    for (;;);
  };
`;

it.each<[NodeJS.Signals, string, readonly string[]]>([
  ["SIGINT", "render --each", ["render", "a.typ", "--each", "rows.jsonl", "-o", "{#}.pdf"]],
  ["SIGTERM", "check", ["check", "a.typ"]],
])("%s ends %s in the middle of a step that takes long", async (signal, _name, args) => {
  const folder = await makeProject({ "p/a.typ": "ENDLESS", "p/rows.jsonl": "{}", "step.mjs": ENDLESS_STEP });
  const begun = join(folder, "begun");
  const env = { SERVICE_URL: UNREACHABLE_URL, NODE_OPTIONS: `--import=${join(folder, "step.mjs")}`, BEGUN: begun };
  const running = startCommand(join(folder, "p"), args, { env });
  await expect.poll(() => access(begun).then(() => true)).toBe(true);
  running.kill(signal);
  // By the signal itself: a handler would never run.
  expect((await running).signal).toBe(signal);
});

describe("a default output", () => {
  it.each([
    ["a pipe", (path: string) => promisify(execFile)("mkfifo", [path])],
    [
      "a link to a pipe",
      async (path: string) => {
        await promisify(execFile)("mkfifo", [`${path}.pipe`]);
        await symlink(`${path}.pipe`, path);
      },
    ],
    ["a link to a device", (path: string) => symlink("/dev/null", path)],
  ])("that is %s is not opened", async (_what, make) => {
    const folder = await makeProject({ "a.typ": "x" });
    await make(join(folder, "a.pdf"));
    const { stderr, exitCode } = await runCommand(folder, ["render", "a.typ"], { env: { SERVICE_URL: url } });
    expect(stderr).toContain("a.pdf is a device, a pipe, or a link to one, so nothing was written.");
    expect(exitCode).toBe(1);
    expect((await lstat(join(folder, "a.pdf"))).isFile()).toBe(false);
  });
});

describe("--each", () => {
  const EACH = ["render", "p", "--each", "rows.jsonl", "-o"];
  const ROWS = { "p/main.typ": "#data", "rows.jsonl": '{"id": "x", "dir": "link"}\n{"id": "y", "dir": "own"}\n' };

  async function withLink(link: string, target: string, output: string) {
    const folder = await makeProject({ ...ROWS, "elsewhere/kept.txt": "", "p/inner/kept.txt": "", "out/kept.txt": "" });
    await rm(join(folder, link), { force: true });
    await symlink(target, join(folder, link));
    const env = { SERVICE_URL: url };
    return { folder, ...(await runCommand(folder, [...EACH, output], { env })) };
  }

  it.each([
    ["p/letters", "../elsewhere", "p/letters/{id}.pdf"],
    ["p/letters", "../elsewhere", "p/letters/{id}/{#}.pdf"],
    ["out/link", "../elsewhere", "out/{dir}/{id}.pdf"],
  ])("writes nothing through %s to %s", async (link, target, output) => {
    const { stderr, exitCode, folder } = await withLink(link, target, output);
    expect(stderr).toContain("is a link, or is below one, to another folder: nothing was sent.");
    expect(exitCode).toBe(2);
    await expect(lstat(join(folder, "elsewhere/x.pdf"))).rejects.toThrow();
  });

  it.each([
    ["mine", "elsewhere", "mine/{id}.pdf"],
    ["p/letters", "inner", "p/letters/{id}.pdf"],
  ])("writes through %s to %s, which the caller has made or the project contains", async (link, target, output) => {
    expect((await withLink(link, target, output)).exitCode).toBe(0);
  });
});
