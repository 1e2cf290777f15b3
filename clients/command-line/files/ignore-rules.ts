/**
 * Which files of a folder `.gitignore` and `.renderignore` leave out, by the rules of git, with case ignored.
 *
 * A project may come from anybody, and a rule with twelve stars can take for ever, so the time for rules is bounded.
 */
import { basename, dirname, join } from "node:path";
import createRules from "ignore";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
import { isThere, readBytes, statOf } from "./disk.ts";
import { makeUnreadableError } from "./folder.ts";
import { OUT_OF_TIME, runWithinSeconds } from "./time-limit.ts";

/** Lists files to leave out in addition to `.gitignore`, in the same syntax. */
export const IGNORE_FILE = ".renderignore";
const GIT_IGNORE_FILE = ".gitignore";

/** The largest known collections of rules have some tens of KiB. */
const MAX_FILE_BYTES = 1024 ** 2;
/** 10,000 files and 1,000 rules take 2.4 s (2026-11-24). */
const MAX_SECONDS = 10;

export class IgnoreRules {
  readonly #root: string;
  /** From the repository to the root, with a slash at its end; empty without a repository around it. */
  readonly #prefix: string;
  /** All rules so far, as if they were in one file of the repository. */
  readonly #rules = createRules();
  /** Folders whose ignore files were read. */
  readonly #read = new Set<string>();
  #secondsLeft: number;

  /** @throws CommandError when an ignore file is too large */
  constructor(root: string, maxSeconds = MAX_SECONDS) {
    const above = foldersAbove(root);
    const names = above.map((_, index) => basename(above[index + 1] ?? root));
    this.#root = root;
    this.#prefix = names.map((name) => `${name}/`).join("");
    this.#secondsLeft = maxSeconds;
    const placeOf = (depth: number) => `/${names.slice(0, depth).map(escapeName).join("/")}`;
    for (const [depth, folder] of above.entries()) this.#add(join(folder, GIT_IGNORE_FILE), placeOf(depth));
    // The caller has named the folder, so it counts, whatever a repository around it says.
    for (const depth of names.keys()) this.#rules.add(`!${placeOf(depth + 1)}/`);
  }

  /** @param keys folders end in a slash. @throws CommandError if there are too many rules */
  keep(keys: readonly string[]): string[] {
    for (const key of keys) this.#readFilesOf(folderOf(key));
    return this.#within(() => keys.filter((key) => !this.#rules.ignores(this.#prefix + key)));
  }

  /** After those of the folders around it. */
  #readFilesOf(folder: string): void {
    if (this.#read.has(folder)) return;
    this.#read.add(folder);
    if (folder !== "") this.#readFilesOf(folderOf(folder));
    const place = `/${(this.#prefix + folder).split("/").filter(Boolean).map(escapeName).join("/")}`;
    for (const name of [GIT_IGNORE_FILE, IGNORE_FILE]) this.#add(join(this.#root, folder, name), place);
  }

  /** @param folder to which the rules apply */
  #add(path: string, folder: string): void {
    const text = readRules(path);
    if (text === "") return;
    const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
    this.#within(() => this.#rules.add(lines.map((line) => ruleBelow(folder, line))));
  }

  #within<Result>(action: () => Result): Result {
    // `performance` would be loaded for this alone.
    const started = process.uptime();
    const result = this.#secondsLeft > 0 ? runWithinSeconds(this.#secondsLeft, action) : OUT_OF_TIME;
    this.#secondsLeft -= process.uptime() - started;
    if (result !== OUT_OF_TIME) return result;
    throw new CommandError(
      `The rules in ${GIT_IGNORE_FILE} and ${IGNORE_FILE} take too long for the files of the project: remove wildcards or rules, or name a source with --files instead of the folder.`,
    );
  }
}

/** From the repository that a folder is in, outermost first; none without a repository. */
function foldersAbove(root: string): string[] {
  const above: string[] = [];
  for (let folder = root; !isThere(join(folder, ".git")); ) {
    const parent = dirname(folder);
    if (parent === folder) return [];
    above.unshift(parent);
    folder = parent;
  }
  return above;
}

/** The key of the folder that something is in; empty for what is in the root. */
function folderOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/", key.length - 2)));
}

function escapeName(name: string): string {
  return name.replace(/[\\*?[\]! #]/g, "\\$&");
}

/** A rule of a folder as one of the repository: without a slash in it, it is for all folders below. */
function ruleBelow(folder: string, line: string): string {
  const [, negation = "", pattern = ""] = /^(!?)(.*)$/s.exec(line) ?? [];
  if (folder === "/" || pattern.trim() === "" || line.startsWith("#")) return line;
  const isAnchored = /\/(?!\s*$)/.test(pattern);
  return `${negation}${folder}/${isAnchored ? pattern.replace(/^\//, "") : `**/${pattern.replace(/^\\([#!])/, "$1")}`}`;
}

/** Empty if it is not there, or is no file. */
function readRules(path: string): string {
  const found = statOf(path);
  if (!found?.isFile()) return "";
  if (found.size > MAX_FILE_BYTES) {
    throw new CommandError(printableLine(`${path} has ${found.size} bytes; the limit is ${MAX_FILE_BYTES}.`));
  }
  try {
    return readBytes(path).toString("utf8");
  } catch (error) {
    throw makeUnreadableError(printableLine(path), error);
  }
}
