/**
 * Runs a task now and again after each change of a project, one at a time.
 */
import { stat } from "node:fs/promises";
import { basename, dirname, resolve, sep } from "node:path";
import { watch } from "chokidar";

export interface WatchedProject {
  /** A source, whose folder is watched, or a folder. */
  readonly source: string;
  /** Files that may lie elsewhere. */
  readonly further: readonly string[];
  /** Files whose changes do not count: what the task itself writes. */
  readonly except: readonly string[];
}

/** Editors write a file in several steps: so long nothing must change. */
const SETTLE_MILLISECONDS = 100;
const IGNORED_FOLDERS = new Set([".git", "node_modules"]);

/** Watches until the signal is aborted. The first run begins at once. */
export async function watchProject(
  { source, further, except }: WatchedProject,
  signal: AbortSignal,
  task: () => Promise<void>,
): Promise<void> {
  const isFolder = (await stat(source).catch(() => null))?.isDirectory() ?? false;
  const root = resolve(isFolder ? source : dirname(resolve(source)));
  const ignored = new Set(except.map((file) => resolve(file)));
  const watcher = watch([root, ...further.map((file) => resolve(file))], {
    ignoreInitial: true,
    ignored: (path) =>
      ignored.has(resolve(path)) || path.endsWith(".part") || path.split(sep).some((part) => IGNORED_FOLDERS.has(part)),
  });
  let isDue = true;
  let wake = () => {};
  let settling: NodeJS.Timeout | undefined;
  watcher.on("all", (_event, path) => {
    clearTimeout(settling);
    settling = setTimeout(() => {
      process.stderr.write(`\n${basename(path)} has changed.\n`);
      isDue = true;
      wake();
    }, SETTLE_MILLISECONDS);
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await new Promise<void>((ready) => watcher.once("ready", ready));
    while (!signal.aborted) {
      if (isDue) {
        isDue = false;
        await task();
        if (!isDue) process.stderr.write("Watching for changes; Ctrl+C ends.\n");
        continue;
      }
      await new Promise<void>((resume) => {
        wake = resume;
        if (isDue || signal.aborted) resume();
      });
    }
  } finally {
    clearTimeout(settling);
    signal.removeEventListener("abort", onAbort);
    await watcher.close();
  }
}
