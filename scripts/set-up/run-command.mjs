/** Runs npm, tar, cargo and what else the set-up needs: to their end, or until the set-up is told to stop. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** From a polite end to a kill: cargo and npm need well under a second to go. */
const KILL_GRACE_MILLISECONDS = 3_000;

/**
 * Lines of a command's output to keep from its beginning (npm says there what is wrong, and explains its options after
 * that), and as many from its end (a compiler's message, and where npm's own log is).
 */
const EXCERPT_LINES = 20;

/**
 * @typedef {object} CommandOptions
 * @property {AbortSignal} signal
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {(line: string) => void} [onLine]
 * @property {(line: string) => boolean} [isNoise] of lines that say nothing about a failure
 */

/**
 * Runs a command to its end, or ends it with all its descendants and throws when the signal says so. The outcome is the
 * problem, undefined on success, and the first and the last lines of stdout and stderr, as they came.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {CommandOptions} options
 * @returns {Promise<{ problem: string | undefined, output: string[] }>}
 */
export async function runCommand(file, args, { signal, cwd, env, onLine, isNoise }) {
  signal.throwIfAborted();
  // A process group of its own: cargo's compilers and npm's scripts have to go with it. A session of its own, too, so
  // nothing in it can ask the terminal for a password.
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  /** @type {string[]} */
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    // It takes a carriage return for the end of a line, too: a progress bar has no other.
    createInterface({ input: stream }).on("line", (line) => {
      if (line.trim() === "") return;
      onLine?.(line);
      if (!isNoise?.(line)) lines.push(line.trimEnd());
    });
  }
  const stop = () => endGroup(child);
  signal.addEventListener("abort", stop, { once: true });
  /** @type {string | undefined} */
  const problem = await new Promise((resolve) => {
    child.once("error", (/** @type {NodeJS.ErrnoException} */ error) =>
      resolve(error.code === "ENOENT" ? `there is no \`${file}\`` : error.message),
    );
    child.once("close", (exitCode, exitSignal) => {
      if (exitCode === 0) resolve(undefined);
      else resolve(exitCode === null ? `ended by ${exitSignal}` : `exit code ${exitCode}`);
    });
  });
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  const dropped = lines.length - 2 * EXCERPT_LINES;
  if (dropped > 0) lines.splice(EXCERPT_LINES, dropped, `... (${dropped} more lines) ...`);
  return { problem, output: lines };
}

/** @param {import("node:child_process").ChildProcess} child */
function endGroup(child) {
  signalGroup(child.pid, "SIGTERM");
  const timer = setTimeout(() => {
    signalGroup(child.pid, "SIGKILL");
    // Something that left the group may still hold the pipes, and "close" would wait for it.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, KILL_GRACE_MILLISECONDS);
  child.once("close", () => clearTimeout(timer));
}

/** @param {number | undefined} leader @param {NodeJS.Signals} name */
function signalGroup(leader, name) {
  try {
    if (leader !== undefined) process.kill(-leader, name);
  } catch {
    // Gone already, which is what was wanted.
  }
}
