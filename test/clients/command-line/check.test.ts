/** `check` with the real Typst: the author sees the lines of their own files. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { noteHeavyImages, warnOfUse } from "../../../clients/command-line/local/heavy-documents.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { makeFakeTypst, VERSION_ANSWER } from "../../support/backend/fake-typst.ts";
import {
  commandEnvironment,
  makeProject,
  PROGRAM,
  runCommand,
  startWatching,
  writeProject,
} from "../../support/clients/command-line.ts";
import { answer, startScript } from "../../support/clients/scripted-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const ELEVEN_LINES = Array.from({ length: 11 }, (_, index) => `Line ${index + 1}.\n`).join("");

async function checkSource(
  source: string,
  files: Readonly<Record<string, string | Uint8Array>> = {},
  args: string[] = [],
) {
  const folder = await makeProject({ "letter.typ": source, ...files });
  return { folder, ...(await runCommand(folder, ["check", "letter.typ", ...args])) };
}

it("an SVG that makes a PDF large because it is on each page is named, and not one that cannot be the reason", async () => {
  // Numbers that do not compress well, and are the same in each run.
  const points = Array.from({ length: 20_000 }, (_, index) => ((index * 7919) % 10_007) / 100).join(" ");
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><path d="M${points}"/></svg>`;
  const source = (pages: number) =>
    `#set page(background: image("head.svg", alt: "Head"))\n#for _ in range(${pages}) [a #pagebreak(weak: true)]`;
  const { stderr } = await checkSource(source(60), { "head.svg": svg });
  expect(stderr).toMatch(
    /^note: the PDF has \d+\.\d MB: Typst writes an SVG anew on each page that shows it, such as head\.svg\./,
  );
  expect((await checkSource(source(2), { "head.svg": svg })).stderr).toBe("letter.typ compiles.\n");
});

it("pictures that grow in a PDF are named where they may be the reason for its size, or for there being none", () => {
  const photo = (key: string) => ({ key, bytes: Buffer.alloc(200_000) });
  const pdf = (bytes: number) => Buffer.alloc(bytes);
  expect(noteHeavyImages(pdf(9_000_000), [photo("a.webp"), photo("a.jpg")])).toEqual([
    expect.stringMatching(/^the PDF has 9\.0 MB: a photograph grows in it: .* as a WebP, .* The largest is a\.webp\.$/),
  ]);
  expect(noteHeavyImages(undefined, [photo("a.png"), photo("b.svg")])).toHaveLength(3);
  expect(noteHeavyImages(pdf(9_000_000), [photo("a.jpg")])).toEqual([]);
  expect(noteHeavyImages(pdf(3_000_000), [{ key: "a.png", bytes: pdf(2_000_000) }])).toEqual([]);
});

it("what a document takes beyond the defaults of the service is said, for PNG with a ppi that fits", () => {
  const image = Buffer.alloc(24);
  image.writeUInt32BE(9933, 16);
  image.writeUInt32BE(14_043, 20);
  expect(warnOfUse({ memoryBytes: 1024 ** 3, cpuSeconds: 15 }, null, [])).toEqual([]);
  expect(warnOfUse({ memoryBytes: 2 * 1024 ** 3, cpuSeconds: 16 }, null, [])).toEqual([
    expect.stringMatching(/ 2\.0 GiB of memory.* 1\.0 GiB .*#documents-that-grow/),
    expect.stringMatching(/ 16 s of processor time.* 15 s /),
  ]);
  expect(warnOfUse({ memoryBytes: 4 * 1024 ** 3, cpuSeconds: 1 }, 300, [image])).toEqual([
    expect.stringContaining("the largest page has 9933 × 14043 pixels, and ppi 135 would fit"),
  ]);
});

describe("an error in line 12", () => {
  it("is shown in line 12 with Typst's own message, and with exit code 4", async () => {
    const { exitCode, stderr } = await checkSource(`${ELEVEN_LINES}#oops(1)\n`);
    expect(stderr).toBe(
      ["error: unknown variable: oops", "   ┌─ letter.typ:12:1", "   │", "12 │ #oops(1)", "   │  ^^^^", ""].join("\n"),
    );
    expect(exitCode).toBe(4);
  });

  it.each([
    ["below a line that begins with #!", `#!/usr/bin/env typst\n${ELEVEN_LINES.slice("Line 1.\n".length)}`],
    ["after a byte order mark", `\ufeff${ELEVEN_LINES}`],
    ["of lines that end with CR LF", ELEVEN_LINES.replaceAll("\n", "\r\n")],
  ])("is in line 12 %s", async (_what, above) => {
    const { stderr } = await checkSource(`${above}#oops(1)\n`);
    expect(stderr).toContain("letter.typ:12:1");
    expect(stderr).toContain("12 │ #oops(1)");
  });

  it("of another file is in line 12 of that file, and the call in its own line of the source", async () => {
    const library = `${"// nothing\n".repeat(10)}#let fail() = {\n  panic("no")\n}\n`;
    const { stderr } = await checkSource(`#import "lib/x.typ": fail\n\n\n#fail()\n`, { "lib/x.typ": library });
    expect(stderr).toContain("┌─ lib/x.typ:12:2");
    expect(stderr).toContain("12 │   panic");
    expect(stderr).toContain("at letter.typ:4:1");
  });
});

it("shows Typst's own error beside a limit that the project exceeds", async () => {
  const parts = Array.from({ length: 70 }, (_, part) => [`p${part}.typ`, ""] as const);
  const source = parts.map(([name]) => `#include "${name}"`).join("\n");
  const folder = await makeProject({ "a.typ": `${source}\n#undefined-name`, ...Object.fromEntries(parts) });
  const { stderr, exitCode } = await runCommand(folder, ["check", "a.typ"]);
  expect(stderr).toMatch(/^invalid_file_data: .*error: unknown variable: undefined-name.*a\.typ:71:1/s);
  expect(exitCode).toBe(3);
  const { stdout } = await runCommand(folder, ["check", "a.typ", "--json"]);
  const outcomes = stdout
    .trim()
    .split("\n")
    .map((line): { outcome: string } => JSON.parse(line));
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["problem", "not-compiled"]);
});

it("names the signal that ended Typst", async () => {
  const folder = await makeTemporaryFolder("command-");
  const typst = await makeFakeTypst(`${VERSION_ANSWER}\nkill -9 $$`);
  await writeProject(folder, { "letter.typ": "x" });
  const { exitCode, stderr } = await runCommand(folder, ["check", "letter.typ", "--typst", typst.path]);
  expect(stderr).toContain("Typst was killed by the signal SIGKILL.");
  expect(exitCode).toBe(4);
});

it("accepts no other version of Typst", async () => {
  const typst = await makeFakeTypst("echo typst 0.14.0");
  const { exitCode, stderr } = await checkSource("x", {}, ["--typst", typst.path]);
  expect(stderr).toContain('says "typst 0.14.0", not "typst 0.15.1"');
  expect(exitCode).toBe(2);
});

it("checks again whenever a file changes, until it is interrupted", async () => {
  const folder = await makeProject({ "letter.typ": '#include "part.typ"', "part.typ": "#oops" });
  const watch = await startWatching(folder, ["check", "letter.typ"]);
  expect(watch.seen).toContain("part.typ:1:1");
  watch.seen = "";
  await writeFile(join(folder, "part.typ"), "fine");
  await expect.poll(() => watch.seen).toContain("letter.typ compiles.");
  watch.seen = "";
  await rm(join(folder, "part.typ"));
  await expect.poll(() => watch.seen).toMatch(/which does not exist.*Watching for changes/s);
  watch.running.kill("SIGINT");
  expect((await watch.running).exitCode).toBe(130);
});

describe("--watch checks again", () => {
  const SOURCE = "Hello #data.name";
  const DATA = '{"name": "one"}';
  async function watchIn(files: Record<string, string>, ...args: string[]) {
    const folder = await makeProject(files);
    const watch = await startWatching(folder, args);
    const expectCheckAfter = async (change: () => Promise<unknown>) => {
      watch.seen = "";
      await change();
      await expect.poll(() => watch.seen, { timeout: 20_000 }).toMatch(/has changed\..*Watching for changes/s);
    };
    return { watch, expectCheckAfter, at: (name: string) => join(folder, name) };
  }

  it("after data elsewhere is deleted, written anew, and replaced, and after its folder is", async () => {
    const files = { "t/main.typ": SOURCE, "x/data.json": DATA };
    const { expectCheckAfter, at, watch } = await watchIn(files, "check", "t", "--data", "x/data.json");
    await expectCheckAfter(() => rm(at("x/data.json")));
    expect(watch.seen).toContain("x/data.json does not exist");
    await expectCheckAfter(() => writeFile(at("x/data.json"), '{"name": "two"}'));
    await expectCheckAfter(() => writeFile(at("x/data.json"), '{"name": "three"}'));
    await writeFile(at("new.json"), '{"name": "four"}');
    await expectCheckAfter(() => rename(at("new.json"), at("x/data.json")));
    await expectCheckAfter(() => rm(at("x"), { recursive: true }));
    await mkdir(at("x"));
    await expectCheckAfter(() => writeFile(at("x/data.json"), DATA));
    expect(watch.seen).toContain("main.typ compiles.");
  });

  it("once after a file is written under another name and renamed", async () => {
    const { watch, at } = await watchIn({ "t/main.typ": "x" }, "check", "t");
    for (let round = 1; round <= 4; round++) {
      // Programs of their own take long enough for the first file to be noticed.
      await execa("sh", ["-c", "cp main.typ .main.typ.new && mv .main.typ.new main.typ"], { cwd: at("t") });
      const checked = /^main\.typ has changed.*?Watching for changes/gms;
      await expect.poll(() => watch.seen.match(checked)).toHaveLength(round);
    }
    // A busy machine may come to look between the two steps of one round, but not of each.
    expect((watch.seen.match(/^\.main\.typ\.new has changed/gm) ?? []).length).toBeLessThan(4);
  });

  it.each([
    ["a shell", "2> watch.log"],
    ["a program behind a pipe", "2> >(tee watch.log)"],
  ])("but not after its own report, which %s writes into the folder", async (_who, into) => {
    const folder = await makeProject({ "main.typ": "x" });
    const shell = ["-c", `exec "$@" ${into}`, "bash", process.execPath, PROGRAM, "check", "main.typ", "--watch"];
    const running = execa("bash", shell, {
      cwd: folder,
      env: commandEnvironment(folder),
      extendEnv: false,
      reject: false,
    });
    const reports = async () => (await readFile(join(folder, "watch.log"), "utf8")).split("Watching for changes");
    await expect.poll(reports, { timeout: 20_000 }).toHaveLength(2);
    // Ten times what a change takes to count, so that a report would have followed its own.
    await delay(1000);
    await writeFile(join(folder, "main.typ"), "y");
    await expect.poll(async () => (await reports()).length, { timeout: 20_000 }).toBeGreaterThan(2);
    running.kill("SIGINT");
    await running;
    expect((await reports()).join("")).not.toContain("watch.log has changed");
  });

  it("after a library above the folder is deleted and written anew", async () => {
    const files = { "p/lib.typ": "#let x = 1", "p/t/main.typ": '#import "../lib.typ": x' };
    const { expectCheckAfter, at } = await watchIn(files, "check", "p/t", "--root", "p");
    await expectCheckAfter(() => rm(at("p/lib.typ")));
    await expectCheckAfter(() => writeFile(at("p/lib.typ"), "#let x = 2"));
    await expectCheckAfter(() => writeFile(at("p/lib.typ"), "#let x = 30"));
  });

  it.each(["node_modules/@acme/letter", ".git/x", "a.part"])("in a folder below %s", async (name) => {
    const { expectCheckAfter, at } = await watchIn({ [`n/${name}/main.typ`]: "x" }, "check", `n/${name}`);
    await expectCheckAfter(() => writeFile(at(`n/${name}/main.typ`), "y"));
  });
});

it("says so when the folder that it watches is gone, and ends", async () => {
  const folder = await makeProject({ "letter/main.typ": "x" });
  const watch = await startWatching(folder, ["check", "letter"]);
  await rename(join(folder, "letter"), join(folder, "post"));
  const { exitCode } = await watch.running;
  expect(watch.seen).toContain(
    `${join(folder, "letter")} was removed, moved or replaced: start the command again to watch it.\n`,
  );
  expect(exitCode).toBe(2);
});

it("opens the document with the system's viewer, once while it watches", async () => {
  const folder = await makeProject({ "letter.typ": "one" });
  // xdg-open hands the file to what BROWSER names.
  await writeFile(join(folder, "viewer"), `#!/bin/sh\necho "$1" >> '${folder}/opened'\n`, { mode: 0o755 });
  const env = { BROWSER: join(folder, "viewer") };
  const watch = await startWatching(folder, ["check", "letter.typ", "--open"], { env });
  const opened = () => readFile(join(folder, "opened"), "utf8").catch(() => "");
  await expect.poll(opened).toMatch(/preview\/[0-9a-f]+\/letter\.pdf\n$/);
  const page = (await opened()).trim();
  const before = await readFile(page);
  // The viewer writes into the folder that is watched, but the preview is no change of it.
  await expect.poll(() => watch.seen).toContain("opened has changed.");
  expect(watch.seen).not.toContain("letter.pdf has changed.");
  await writeFile(join(folder, "letter.typ"), "two");
  await expect.poll(() => readFile(page)).not.toEqual(before);
  expect((await opened()).trim()).toBe(page);
});

it("says that a service has newer rules, if it may take what this program cannot read", async () => {
  const document = constraintsDocument(DEFAULT_LIMITS);
  const newer = { keys: ["a b.txt"], accepted: true, code: null, rule: null };
  const rules = { ...document, rules_version: document.rules_version + 1, conformance_vectors: [newer] };
  const headers = { "Content-Type": "application/json", ETag: '"newer"' };
  const { url } = await startScript(answer(200, headers, JSON.stringify(rules)));
  const folder = await makeProject({ "a.typ": '#read("a b.txt")', "a b.txt": "x" });
  const env = { SERVICE_URL: url };
  expect((await runCommand(folder, ["constraints"], { env })).exitCode).toBe(0);
  const { stderr, exitCode } = await runCommand(folder, ["check", "a.typ"], { env });
  expect(stderr).toMatch(/ has newer rules than this program, .*a b\.txt.* Update the program\./);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(exitCode).toBe(1);
});
