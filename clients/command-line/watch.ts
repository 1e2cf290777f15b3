/** Runs a task at once and after each change of a project, one run at a time. */
import { fstatSync, unwatchFile, watchFile } from "node:fs";
import { basename, relative, resolve, sep } from "node:path";
import { watch } from "chokidar";
import { CommandError } from "./exit-codes.ts";
import { isThere, linkStatOf, readIfThere, realPath, statOf } from "./files/disk.ts";
import { isBelow, placeWithoutLinks, projectFolder } from "./files/folder.ts";
import { runInterruptible } from "./interruption.ts";
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
/** Single files are looked at this often: a watch would be lost with a file, or a folder, that is deleted and made anew. */
const POLL_MILLISECONDS = 500;
/** Of more, as of a large package, the first. */
const MAX_POLLED = 2000;
const IGNORED_FOLDERS = new Set([".git", "node_modules"]);
/** The command's own, before they get their names: see output-file.ts. */
const UNFINISHED = /^\..*\.[0-9a-f]{12}\.part$/;

const WATCHING = "Watching for changes; press Ctrl+C to stop.";

/** @param watchAlso adds files that the project turns out to read */
type WatchTask = (watchAlso: (paths: readonly string[]) => void) => Promise<void>;

/** Watches until the signal is aborted. @throws CommandError when the folder of the project is gone */
export async function watchProject(
  { source, further, except }: WatchedProject,
  signal: AbortSignal,
  task: WatchTask,
): Promise<void> {
  // As in the events of a watched folder.
  const root = realPath(projectFolder(source)) ?? projectFolder(source);
  const ignored = new Set(except.map(placeWithoutLinks));
  // Names above the root are none of its own: a project may be below `node_modules`.
  const isIgnored = (path: string) =>
    ignored.has(resolve(path)) ||
    UNFINISHED.test(basename(path)) ||
    relative(root, path)
      .split(sep)
      .some((part) => IGNORED_FOLDERS.has(part));
  // A link may lead to a folder of any size.
  const watcher = watch(root, { ignoreInitial: true, followSymlinks: false, ignored: isIgnored });
  let { promise: change, resolve: wake } = Promise.withResolvers<void>();
  let settling: NodeJS.Timeout | undefined;
  let isRootGone = false;
  /** Editors write a file under another name, which is gone before a run could have seen it. */
  const unseen = new Set<string>();
  const changed = new Set<string>();
  const noteChange = (path: string) => {
    changed.add(path);
    clearTimeout(settling);
    settling = setTimeout(() => {
      // By now, a file that follows this program's report has all of it.
      const others = [...changed].filter((one) => !isOwnOutput(one));
      changed.clear();
      // Of a file that was written under another name, its own.
      const shown = others.findLast(isThere) ?? others.at(-1);
      if (shown === undefined) return;
      say(`\n${printableLine(basename(shown))} has changed.`);
      wake();
    }, SETTLE_MILLISECONDS);
  };
  watcher.on("all", (event, path) => {
    if (event === "unlinkDir" && path === root) isRootGone = true;
    if (event === "unlink" && unseen.delete(path)) return;
    if (event === "add") unseen.add(path);
    noteChange(path);
  });
  watcher.on("error", sayUnwatched());
  const isWatched = (path: string) => isBelow(root, path) && !isIgnored(path) && !linkStatOf(path)?.isSymbolicLink();
  const polled = new PolledFiles(noteChange);
  polled.add(further.filter((path) => !isWatched(resolve(path))));
  signal.addEventListener("abort", () => wake(), { once: true });
  try {
    await runInterruptible(() => new Promise<void>((ready) => watcher.once("ready", ready)));
    for (;;) {
      if (signal.aborted) return;
      // A folder that comes to its place later would not be watched.
      if (isRootGone) {
        throw new CommandError(
          `${printableLine(root)} was removed, moved or replaced: start the command again to watch it.`,
        );
      }
      ({ promise: change, resolve: wake } = Promise.withResolvers<void>());
      for (const path of unseen) if (isThere(path)) unseen.delete(path);
      await task((paths) => polled.add(paths.filter((path) => !isWatched(path))));
      await runInterruptible(() => {
        say(WATCHING);
        return change;
      });
    }
  } finally {
    clearTimeout(settling);
    polled.stop();
    await watcher.close();
  }
}

class PolledFiles {
  readonly #paths = new Set<string>();
  readonly #noteChange: (path: string) => void;

  constructor(noteChange: (path: string) => void) {
    this.#noteChange = noteChange;
  }

  add(paths: readonly string[]): void {
    for (const path of paths.map((one) => resolve(one))) {
      if (this.#paths.has(path) || this.#paths.size >= MAX_POLLED) continue;
      this.#paths.add(path);
      watchFile(path, { interval: POLL_MILLISECONDS }, (now, before) => {
        const isSame = now.mtimeMs === before.mtimeMs && now.size === before.size && now.ino === before.ino;
        if (!isSame) this.#noteChange(path);
      });
    }
  }

  stop(): void {
    for (const path of this.#paths) unwatchFile(path);
  }
}

/** Most folders beside a source have nothing to do with it, so one that cannot be watched is said once. */
function sayUnwatched(): (error: unknown) => void {
  const said = new Set<string>();
  return (error) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = error instanceof Error ? error.message : String(error);
    const advice = /^(?:ENOSPC|EMFILE)$/.test(code)
      ? " The system allows no more watches: set CHOKIDAR_USEPOLLING=1, or raise fs.inotify.max_user_watches."
      : "";
    if (!said.has(code)) say(printableLine(`note: A part of the folder is not watched (${why}).${advice}`));
    said.add(code);
  };
}

/** A longer file is no report of this program, or it has been watching for a day. */
const MAX_REPORT_BYTES = 2 * 1024 ** 2;

/** Whether what this program says goes into the file, by the shell or, as by `tee`, through a pipe: each report would be a change. */
function isOwnOutput(path: string): boolean {
  const found = statOf(path);
  if (found?.isFile() !== true) return false;
  const outputs = [1, 2].map((fd) => fstatSync(fd));
  if (outputs.some(({ dev, ino }) => dev === found.dev && ino === found.ino)) return true;
  if (!outputs.some((output) => output.isFIFO()) || found.size > MAX_REPORT_BYTES) return false;
  return readIfThere(path)?.includes(`\n${WATCHING}\n`) === true;
}
