/** A text through a FIFO whose reader does not take all of it. The readers are real processes. The others: test/backend/compiler. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { type FifoReader, writeFifo } from "../../../backend/launcher/program.ts";
import { isRunning } from "../../support/backend/processes.ts";

const MEBIBYTE = 1024 ** 2;

async function makeFifo(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "source-fifo-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "fifo");
  execFileSync("mkfifo", [path]);
  return path;
}

interface StartedReader extends FifoReader {
  readonly process: ChildProcess;
  /** All that the reader has read, once it has seen the end; empty if it was killed before. */
  readonly text: Promise<string>;
}

/** `first`: what the reader does before it reads all, in the shell's language. */
function startReader(path: string, first: string): StartedReader {
  // The text is kept back until its end has come.
  const script = `${first}; read_all=$(cat "$1") && printf %s "$read_all"`;
  const process = spawn("/bin/sh", ["-c", script, "sh", path], { stdio: ["ignore", "pipe", "ignore"], detached: true });
  const kill = () => {
    if (process.pid !== undefined && isRunning(process.pid)) globalThis.process.kill(-process.pid, "SIGKILL");
  };
  onTestFinished(kill);
  return { process, text: text(process.stdout), end: once(process, "exit"), kill };
}

it("a reader that stops in the middle never sees an end, and is waited for until it has ended", async () => {
  const path = await makeFifo();
  const reader = startReader(path, 'exec 3<"$1"; head -c 1 <&3 > "$1.begun"; sleep 600');
  const written = writeFifo(path, [Buffer.alloc(MEBIBYTE, "x")], reader);
  await expect.poll(() => readFile(`${path}.begun`, "utf8").catch(() => "")).toBe("x");
  reader.kill();
  expect(await written).toBe(false);
  expect(await reader.text).toBe("");
});

it.each([
  ["closes in the middle", 'head -c 10 "$1" >&2; sleep 600', false],
  ["would wait forever, because the FIFO is gone", "sleep 600", true],
])("a reader that %s is killed", async (_what, script, isGone) => {
  const path = await makeFifo();
  const reader = startReader(path, script);
  if (isGone) await rm(path);
  expect(await writeFifo(path, [Buffer.alloc(MEBIBYTE, "x")], reader)).toBe(false);
  expect(reader.process.signalCode).toBe("SIGKILL");
});
