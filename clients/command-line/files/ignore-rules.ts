/**
 * Which files of a folder `.gitignore` and `.renderignore` leave out, by the rules of git, with case ignored.
 *
 * A project may come from anybody, and a rule with twelve stars can take for ever, so the time for rules is bounded.
 */
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import createRules from "ignore";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
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
  readonly #loaded = new Map<string, Promise<void>>();
  #secondsLeft: number;

  private constructor(root: string, prefix: string, maxSeconds: number) {
    this.#root = root;
    this.#prefix = prefix;
    this.#secondsLeft = maxSeconds;
  }

  /** @throws CommandError when an ignore file is too large */
  static async load(root: string, maxSeconds = MAX_SECONDS): Promise<IgnoreRules> {
    const above = await foldersAbove(root);
    const names = above.map((_, index) => basename(above[index + 1] ?? root));
    const ignored = new IgnoreRules(root, names.map((name) => `${name}/`).join(""), maxSeconds);
    for (const [depth, folder] of above.entries()) {
      await ignored.#add(join(folder, GIT_IGNORE_FILE), `/${names.slice(0, depth).map(escapeName).join("/")}`);
    }
    // The caller has named the folder, so it counts, whatever a repository around it says.
    names.forEach((_, depth) => {
      ignored.#rules.add(
        `!/${names
          .slice(0, depth + 1)
          .map(escapeName)
          .join("/")}/`,
      );
    });
    return ignored;
  }

  /** @param keys folders end in a slash. @throws CommandError if there are too many rules */
  async keep(keys: readonly string[]): Promise<string[]> {
    for (const key of keys) await this.#load(folderOf(key));
    return this.#within(() => keys.filter((key) => !this.#rules.ignores(this.#prefix + key)));
  }

  /** Reads the ignore files of a folder, after those of the folders around it. */
  #load(folder: string): Promise<void> {
    const known = this.#loaded.get(folder);
    if (known !== undefined) return known;
    const loading = (async () => {
      if (folder !== "") await this.#load(folderOf(folder));
      const place = `/${(this.#prefix + folder).split("/").filter(Boolean).map(escapeName).join("/")}`;
      for (const name of [GIT_IGNORE_FILE, IGNORE_FILE]) await this.#add(join(this.#root, folder, name), place);
    })();
    this.#loaded.set(folder, loading);
    return loading;
  }

  /** @param folder to which the rules apply */
  async #add(path: string, folder: string): Promise<void> {
    const text = await readRules(path);
    if (text === "") return;
    const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
    this.#within(() => this.#rules.add(lines.map((line) => ruleBelow(folder, line))));
  }

  #within<Result>(action: () => Result): Result {
    const started = performance.now();
    const result = this.#secondsLeft > 0 ? runWithinSeconds(this.#secondsLeft, action) : OUT_OF_TIME;
    this.#secondsLeft -= (performance.now() - started) / 1000;
    if (result !== OUT_OF_TIME) return result;
    throw new CommandError(
      `The rules in ${GIT_IGNORE_FILE} and ${IGNORE_FILE} take too long for the files of the project: remove wildcards or rules, or name a source with --files instead of the folder.`,
    );
  }
}

/** From the repository that a folder is in, outermost first; none without a repository. */
async function foldersAbove(root: string): Promise<string[]> {
  const above: string[] = [];
  for (let folder = root; (await stat(join(folder, ".git")).catch(() => null)) === null; ) {
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
async function readRules(path: string): Promise<string> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) return "";
  if (found.size > MAX_FILE_BYTES) {
    throw new CommandError(printableLine(`${path} has ${found.size} bytes; the limit is ${MAX_FILE_BYTES}.`));
  }
  return readFile(path, "utf8").catch((error: unknown) => {
    throw new CommandError(printableLine(`${path} cannot be read (${error instanceof Error ? error.message : ""}).`));
  });
}
