/** Runs a task at once and after each change of a project, one run at a time. */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { watch } from "chokidar";
import { CommandError } from "./exit-codes.ts";
import { runInterruptible } from "./interruption.ts";
import { projectFolder } from "./project/folder.ts";
import { printableLine, say } from "./terminal.ts";

export interface WatchedProject {
  /** A folder, or a source, whose folder is then watched. */
  readonly source: string;
  /** Further files, which may be outside that folder. */
  readonly further: readonly string[];
  /** Files and folders whose changes are ignored: those that the task itself writes. */
  readonly except: readonly string[];
}

/** Editors save a file in several steps, so a run begins once nothing has changed for this long. */
const SETTLE_MILLISECONDS = 100;
const IGNORED_FOLDERS = new Set([".git", "node_modules"]);

/** @param watchAlso adds files elsewhere, which the project turns out to read */
type WatchTask = (watchAlso: (paths: readonly string[]) => void) => Promise<void>;

/** Watches until the signal is aborted. @throws CommandError when the folder of the project is gone */
export async function watchProject(
  { source, further, except }: WatchedProject,
  signal: AbortSignal,
  task: WatchTask,
): Promise<void> {
  const root = await realPath(await projectFolder(source));
  const ignored = new Set(await Promise.all(except.map(placeOf)));
  const watcher = watch([root, ...(await Promise.all(further.map(realPath)))], {
    ignoreInitial: true,
    // A link may lead to a folder of any size.
    followSymlinks: false,
    ignored: (path) =>
      ignored.has(resolve(path)) || path.endsWith(".part") || path.split(sep).some((part) => IGNORED_FOLDERS.has(part)),
  });
  let { promise: change, resolve: wake } = Promise.withResolvers<void>();
  wake();
  let settling: NodeJS.Timeout | undefined;
  let isRootGone = false;
  watcher.on("all", (event, path) => {
    if (event === "unlinkDir" && path === root) isRootGone = true;
    clearTimeout(settling);
    settling = setTimeout(() => {
      say(`\n${printableLine(basename(path))} has changed.`);
      wake();
    }, SETTLE_MILLISECONDS);
  });
  signal.addEventListener("abort", () => wake(), { once: true });
  try {
    await runInterruptible(() => new Promise<void>((ready) => watcher.once("ready", ready)));
    for (;;) {
      await runInterruptible(() => change);
      if (signal.aborted) return;
      // A folder that comes to its place later would not be watched.
      if (isRootGone) {
        throw new CommandError(
          `${printableLine(root)} was removed, moved or replaced: start the command again to watch it.`,
        );
      }
      ({ promise: change, resolve: wake } = Promise.withResolvers<void>());
      await task((paths) => watcher.add([...paths]));
      say("Watching for changes; press Ctrl+C to stop.");
    }
  } finally {
    clearTimeout(settling);
    await watcher.close();
  }
}

/** The path without links, as in the events of a watched folder; unchanged if nothing is there. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

/** The path of a file, with the links in its folder resolved. The file may be missing, or a link itself. */
async function placeOf(file: string): Promise<string> {
  return join(await realPath(dirname(resolve(file))), basename(file));
}
