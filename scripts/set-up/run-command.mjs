/**
 * Runs commands that may take minutes and start others, such as npm and cargo, before execa is installed. The other
 * programs that run so early answer within seconds: `typst/programs.mjs`.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The time between SIGTERM and SIGKILL. cargo and npm usually end within a second. */
const KILL_GRACE_MILLISECONDS = 3_000;
/** Kept of the beginning of the output, where npm reports what is wrong, and of its end, where compilers do. */
const EXCERPT_LINES = 20;

/**
 * @typedef {object} CommandOptions
 * @property {AbortSignal} signal
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {(line: string) => boolean} [isNoise] whether a line is irrelevant to failures
 */

/**
 * Runs a command. When the signal is aborted, it ends the command with its descendants and throws.
 *
 * @param {string} file @param {readonly string[]} args @param {CommandOptions} options
 * @returns {Promise<{ problem: string | undefined, output: string[] }>} with the first and last lines of the output
 */
export async function runCommand(file, args, { signal, cwd, env, isNoise }) {
  signal.throwIfAborted();
  // In a process group, so that descendants end with it, and in a session, so that nothing can ask for a password.
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  /** @type {string[]} */
  const lines = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      if (line.trim() !== "" && !isNoise?.(line)) lines.push(line.trimEnd());
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
  const send = (/** @type {NodeJS.Signals} */ name) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // The process has ended already.
    }
  };
  send("SIGTERM");
  const timer = setTimeout(() => {
    send("SIGKILL");
    // A descendant that left the group may keep the pipes open, and "close" would wait for it.
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, KILL_GRACE_MILLISECONDS);
  child.once("close", () => clearTimeout(timer));
}
