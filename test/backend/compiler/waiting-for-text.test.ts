/** Processes that wait for their program text at a FIFO. */
import { closeSync, constants, openSync, readSync } from "node:fs";
import { readdir, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { DATA_FILE_NAME } from "../../../typst/file-layout.ts";
import { NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { ageSeconds, processStatus, typstProcessesOf } from "../../support/backend/processes.ts";
import { startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

/** More than a FIFO holds. */
const LONG_TEXT = `#let long = "${"x".repeat(500_000)}"\n#long.len()`;
const LONG_TEXT_SHOWS = "500000";

type Settings = Readonly<Record<string, string>>;

const backendFor = (settings: Settings = {}): Promise<TestBackend> =>
  startTemporaryBackend({ SERVICE_WARM_RENDERS: "1", ...settings });

/** The process that waits, with the path of its FIFO, once it is there and nothing else is. */
async function waitingProcess(workDirectory: string): Promise<{ pid: number; fifo: string }> {
  let found: { pid: number; fifo: string } | null = null;
  await expect
    .poll(async () => {
      const pids = typstProcessesOf(workDirectory);
      const folders = (await readdir(workDirectory)).filter((name) => name.startsWith("render-"));
      const contents = await Promise.all(folders.map((folder) => readdir(join(workDirectory, folder))));
      // A directory that is used again has the data of requests without any.
      const names = contents.flat().filter((name) => name !== DATA_FILE_NAME);
      const [pid = 0] = pids;
      found = { pid, fifo: join(workDirectory, folders[0] ?? "", names[0] ?? "") };
      return [pids.length, folders.length, names.length];
    })
    .toEqual([1, 1, 1]);
  if (found === null) throw new Error("no process waits");
  return found;
}

async function renderText(backend: TestBackend, text: string): Promise<readonly string[]> {
  return (await readPdf(await backend.renderFile({ source: text }))).pageTexts;
}

/** A backend with a process that waits, once it has rendered. */
async function waitingBackend(settings: Settings = {}) {
  const backend = await backendFor(settings);
  await renderText(backend, "text");
  return { backend, waiting: await waitingProcess(backend.workDirectory) };
}

/**
 * Stops Typst before it reads, and reads in its place: what is written fills the FIFO and goes no further.
 * @returns what resolves when the text has begun
 */
function jam(waiting: { pid: number; fifo: string }) {
  process.kill(waiting.pid, "SIGSTOP");
  const descriptor = openSync(waiting.fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(descriptor));
  // The end of a FIFO without a writer reads as no bytes, a FIFO that is empty as an error.
  return () => expect.poll(() => readSync(descriptor, Buffer.alloc(1))).toBe(1);
}

describe("a process that waits for its text", () => {
  it("has a FIFO with a name that no file of a request can have and that cannot be guessed", async () => {
    const backend = await backendFor();
    const names = new Set<string>();
    for (let round = 0; round < 3; round++) {
      expect(await renderText(backend, "text")).toEqual(["text"]);
      const { fifo } = await waitingProcess(backend.workDirectory);
      expect((await stat(fifo)).isFIFO()).toBe(true);
      expect(fifo).toMatch(/\/:[0-9a-f]{32}$/);
      names.add(basename(fifo));
    }
    expect(names.size).toBe(3);
  });

  it("has found its fonts although there is one slot, and the render before it went on after its compile", async () => {
    const backend = await backendFor({ SERVICE_MAX_CONCURRENT_RENDERS: "1" });
    // Compiled again, to learn why there is no page.
    const answer = await backend.render({ source: "text", output: { format: "pdf", pages: "9" } });
    expect(answer.status).toBe(422);
    await waitingProcess(backend.workDirectory);
  });

  it("lets a template that has the name read only itself, and does not wait again", async () => {
    const { backend, waiting } = await waitingBackend(NO_TIME_LIMIT);
    const name = `/${basename(waiting.fifo)}`;
    const source = `#read("${name}").split("\\n").last().slice(0, 5)`;
    expect(await renderText(backend, source)).toEqual(["#read"]);
    const { fifo: next } = await waitingProcess(backend.workDirectory);
    const including = { source: `#include "/${basename(next)}"` };
    await expectProblem(await backend.render(including), "template_compile_failed");
    await waitingProcess(backend.workDirectory);
  });

  it("sleeps until then, and serves even if it has waited longer than it may use the processor", async () => {
    const { backend, waiting } = await waitingBackend({ SERVICE_RENDER_CPU_SECONDS: "1" });
    const stateOf = (thread: string) => processStatus(waiting.pid, thread).State;
    const states = async () => new Set((await readdir(`/proc/${waiting.pid}/task`)).map(stateOf));
    await expect.poll(states).toEqual(new Set(["S (sleeping)"]));
    await expect.poll(() => ageSeconds(waiting.pid)).toBeGreaterThan(2);
    expect(await states()).toEqual(new Set(["S (sleeping)"]));
    expect(await renderText(backend, "later")).toEqual(["later"]);
    expect(await backend.metric("service_warm_renders_used_total")).toBe(1);
  });

  it("does not wait where its FIFO cannot be made, as on a full disk, and renders go on in the same shells", async () => {
    const folder = await makeTemporaryFolder("mkfifo-test-");
    const tries = join(folder, "tries");
    // Those of the shells are made.
    const refuse = `case "$*" in *" :"*) echo "no space" | tee -a '${tries}' >&2; exit 1;; esac`;
    await writeFile(join(folder, "mkfifo"), `#!/bin/sh\n${refuse}\nexec /usr/bin/mkfifo "$@"\n`, { mode: 0o755 });
    const backend = await backendFor({ PATH: `${folder}:${process.env.PATH}` });
    const shells = new Set<string>();
    for (let round = 1; round <= 3; round++) {
      expect(await renderText(backend, "text")).toEqual(["text"]);
      await expect.poll(() => readFile(tries, "utf8").catch(() => "")).toBe("no space\n".repeat(round));
      await expect.poll(() => backend.metric("service_warm_renders_waiting")).toBe(0);
      shells.add((await readdir(join(backend.workDirectory, "launcher"))).toSorted().join(" "));
    }
    expect([...shells]).toEqual([expect.stringMatching(/^1\.in 1\.out(?: 2\.in 2\.out)?$/)]);
  });

  it("has a FIFO made before the limits of a render hold: its user may have more processes than a render may start", async () => {
    const folder = await makeTemporaryFolder("mkfifo-test-");
    const limits = join(folder, "limits");
    const note = `case "$*" in *" :"*) ulimit -t >>'${limits}';; esac`;
    await writeFile(join(folder, "mkfifo"), `#!/bin/sh\n${note}\nexec /usr/bin/mkfifo "$@"\n`, { mode: 0o755 });
    const backend = await backendFor({ PATH: `${folder}:${process.env.PATH}` });
    await renderText(backend, "text");
    await waitingProcess(backend.workDirectory);
    expect(await readFile(limits, "utf8")).toBe("unlimited\n");
  });

  it("is replaced if somebody has removed its FIFO", async () => {
    const { backend, waiting } = await waitingBackend(NO_TIME_LIMIT);
    await unlink(waiting.fifo);
    expect(await renderText(backend, "after")).toEqual(["after"]);
  });

  it("is replaced if it is killed with a part of its text", async () => {
    const { backend, waiting } = await waitingBackend(NO_TIME_LIMIT);
    const begun = jam(waiting);
    const answer = renderText(backend, LONG_TEXT);
    await begun();
    process.kill(waiting.pid, "SIGKILL");
    expect(await answer).toEqual([LONG_TEXT_SHOWS]);
  });

  it("ends in time if it does not take its text", async () => {
    const { backend, waiting } = await waitingBackend({ SERVICE_RENDER_TIMEOUT_SECONDS: "2" });
    process.kill(waiting.pid, "SIGSTOP");
    await expectProblem(await backend.render({ source: "never read" }), "render_timeout");
    expect(await renderText(backend, "next")).toEqual(["next"]);
  });

  it("ends when its client goes away in the middle of the text", async () => {
    const { backend, waiting } = await waitingBackend(NO_TIME_LIMIT);
    const begun = jam(waiting);
    const client = new AbortController();
    const answer = backend.render({ source: LONG_TEXT }, { signal: client.signal }).catch(() => "gone");
    await begun();
    client.abort();
    expect(await answer).toBe("gone");
    await expect.poll(() => typstProcessesOf(backend.workDirectory).includes(waiting.pid)).toBe(false);
    const outcome = { format: "pdf", outcome: "client_gone" };
    await expect.poll(() => backend.metric("service_render_requests_total", outcome)).toBe(1);
    expect(await renderText(backend, "next")).toEqual(["next"]);
  });
});
