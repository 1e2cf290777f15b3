/**
 * Which files of a folder `.gitignore` and `.renderignore` leave out, in the syntax of git (gitignore(5)), with case
 * ignored.
 *
 * A project may come from anybody. As a regular expression, twelve stars and one long name take longer than anybody
 * waits, so wildcards are matched without one, and the steps of all comparisons together are bounded.
 */
import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";

/** Lists files to leave out in addition to `.gitignore`, in the same syntax. */
export const IGNORE_FILE = ".renderignore";
const GIT_IGNORE_FILE = ".gitignore";

/** The largest known collections of rules have some tens of KiB. */
const MAX_FILE_BYTES = 1024 ** 2;
/** 10,000 files and 1,000 rules take about half of them, and all of them about a second. */
const MAX_STEPS = 200_000_000;

/** A part of a segment: a character, one of several, any one (`?`), or any number of any (`*`). */
type Token = string | CharacterSet | typeof ANY_ONE | typeof ANY_NUMBER;
const ANY_ONE = Symbol("?");
const ANY_NUMBER = Symbol("*");
/** Any number of folders. */
const ANY_FOLDERS = Symbol("**");

interface CharacterSet {
  readonly isNegated: boolean;
  readonly parts: readonly ((character: string) => boolean)[];
}

type Segment = readonly Token[] | typeof ANY_FOLDERS;

interface Rule {
  readonly segments: readonly Segment[];
  readonly isForFolders: boolean;
  /** It begins with `!`. */
  readonly includes: boolean;
}

interface FolderRules {
  readonly rules: readonly Rule[];
  /** The names between the folder and the root of the project, for one above the root. */
  readonly above: readonly string[];
  /** The number of names from the root of the project to the folder. */
  readonly depth: number;
}

export class IgnoreRules {
  readonly #root: string;
  /** By the keys of folders, the rules that hold in them, the nearest first. */
  readonly #chains = new Map<string, Promise<readonly FolderRules[]>>();
  readonly #verdicts = new Map<string, Promise<boolean>>();
  #steps = 0;

  private constructor(root: string, outer: readonly FolderRules[]) {
    this.#root = root;
    this.#chains.set("", this.#withOwn(outer, ""));
  }

  /** @throws CommandError when an ignore file is too large */
  static async load(root: string): Promise<IgnoreRules> {
    const outer: FolderRules[] = [];
    const above: string[] = [];
    for (let folder = root; !(await exists(join(folder, ".git"))); ) {
      const parent = dirname(folder);
      // Without a repository, nothing above the project has a say.
      if (parent === folder) return new IgnoreRules(root, []);
      above.unshift(basename(folder).toLowerCase());
      folder = parent;
      outer.push({ rules: await rulesOf(join(folder, GIT_IGNORE_FILE)), above: [...above], depth: 0 });
    }
    return new IgnoreRules(root, outer);
  }

  /**
   * Whether a file, or a folder that it is in, is left out. @throws CommandError when the rules are too many, or too
   * large
   */
  async isIgnored(key: string): Promise<boolean> {
    const folder = folderOf(key);
    return (
      (await this.#isFolderIgnored(folder)) || (await this.isEntryIgnored(folder, key.slice(folder.length), false))
    );
  }

  /**
   * The same for what is in a folder that is not left out itself. The last rule that matches decides, in the nearest
   * folder that has one.
   */
  async isEntryIgnored(folder: string, name: string, isFolder: boolean): Promise<boolean> {
    const names = `${folder}/${name}`
      .toLowerCase()
      .split("/")
      .filter((part) => part !== "");
    for (const { rules, above, depth } of await this.#chain(folder)) {
      const path = [...above, ...names.slice(depth)];
      const rule = rules.findLast(
        ({ segments, isForFolders }) => (isFolder || !isForFolders) && this.#matchesPath(segments, path),
      );
      if (rule !== undefined) return !rule.includes;
    }
    return false;
  }

  #isFolderIgnored(folder: string): Promise<boolean> {
    if (folder === "") return Promise.resolve(false);
    const known = this.#verdicts.get(folder);
    if (known !== undefined) return known;
    const outer = folderOf(folder);
    const verdict = this.#isFolderIgnored(outer).then(
      (isOuterIgnored) => isOuterIgnored || this.isEntryIgnored(outer, folder.slice(outer.length), true),
    );
    this.#verdicts.set(folder, verdict);
    return verdict;
  }

  #chain(folder: string): Promise<readonly FolderRules[]> {
    const known = this.#chains.get(folder);
    if (known !== undefined) return known;
    const chain = this.#chain(folderOf(folder)).then((outer) => this.#withOwn(outer, folder));
    this.#chains.set(folder, chain);
    return chain;
  }

  async #withOwn(outer: readonly FolderRules[], folder: string): Promise<readonly FolderRules[]> {
    const files = [GIT_IGNORE_FILE, IGNORE_FILE].map((name) => rulesOf(join(this.#root, folder, name)));
    const rules = (await Promise.all(files)).flat();
    if (rules.length === 0) return outer;
    return [{ rules, above: [], depth: folder === "" ? 0 : folder.split("/").length }, ...outer];
  }

  #matchesPath(segments: readonly Segment[], path: readonly string[]): boolean {
    return this.#matches(segments, path, ANY_FOLDERS, (segment, name) => {
      return segment !== ANY_FOLDERS && this.#matchesName(segment, name);
    });
  }

  #matchesName(tokens: readonly Token[], name: string): boolean {
    return this.#matches(tokens, name, ANY_NUMBER, (token, character) => {
      if (typeof token === "string") return token === character;
      if (typeof token === "symbol") return token === ANY_ONE;
      this.#steps += token.parts.length;
      return token.parts.some((has) => has(character)) !== token.isNegated;
    });
  }

  /** Only the last wildcard is ever extended: those before it have already matched as little as they can. */
  #matches<Part>(
    parts: readonly Part[],
    items: ArrayLike<string>,
    wildcard: Part,
    isOne: (part: Part, item: string) => boolean,
  ): boolean {
    let part = 0;
    let item = 0;
    let wildcardAt = -1;
    let extendedTo = 0;
    while (item < items.length) {
      if (++this.#steps > MAX_STEPS) throw tooManySteps();
      const expected = parts[part];
      if (expected === wildcard) {
        wildcardAt = part++;
        extendedTo = item;
      } else if (expected !== undefined && isOne(expected, items[item] ?? "")) {
        part++;
        item++;
      } else if (wildcardAt >= 0) {
        part = wildcardAt + 1;
        item = ++extendedTo;
      } else return false;
    }
    while (parts[part] === wildcard) part++;
    return part === parts.length;
  }
}

/** The key of the folder of a key; empty for what is in the root. */
function folderOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf("/")));
}

function tooManySteps(): CommandError {
  return new CommandError(
    `The rules in ${GIT_IGNORE_FILE} and ${IGNORE_FILE} take too long for the files of the project: remove wildcards or rules, or name a source with --files instead of the folder.`,
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The rules of a file; none if it is not there, or is no file. */
async function rulesOf(path: string): Promise<Rule[]> {
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) return [];
  if (found.size > MAX_FILE_BYTES) {
    throw new CommandError(printableLine(`${path} has ${found.size} bytes, and the limit is ${MAX_FILE_BYTES}.`));
  }
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new CommandError(printableLine(`${path} cannot be read (${error instanceof Error ? error.message : ""}).`));
  });
  return text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .flatMap((line) => ruleOf(line) ?? []);
}

/** Null for a comment, and for what names nothing. */
function ruleOf(line: string): Rule | null {
  const trimmed = withoutTrailingSpace(line).toLowerCase();
  if (trimmed.startsWith("#")) return null;
  const includes = trimmed.startsWith("!");
  const pattern = includes ? trimmed.slice(1) : trimmed;
  const isForFolders = pattern.endsWith("/");
  const path = isForFolders ? pattern.slice(0, -1) : pattern;
  if (path === "") return null;
  const segments = path.replace(/^\//, "").split("/").map(segmentOf);
  if (segments.some((segment) => segment !== ANY_FOLDERS && segment.length === 0)) return null;
  // Without a slash in it, it is for the names in all folders.
  if (!path.includes("/")) segments.unshift(ANY_FOLDERS);
  // `a/**` is what is in the folder, not the folder.
  if (segments.at(-1) === ANY_FOLDERS) segments.push([ANY_NUMBER]);
  return { segments, isForFolders, includes };
}

function withoutTrailingSpace(line: string): string {
  let end = line.length;
  while (end > 0 && /\s/.test(line[end - 1] ?? "")) end--;
  // A space after a backslash belongs to the name.
  return end < line.length && line[end - 1] === "\\" ? line.slice(0, end + 1) : line.slice(0, end);
}

function segmentOf(text: string): Segment {
  // Git takes more than two stars for two.
  if (/^\*{2,}$/.test(text)) return ANY_FOLDERS;
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? "";
    const found = character === "[" ? setAt(text, at) : null;
    if (found !== null) {
      tokens.push(found.set);
      at = found.end;
    } else if (character === "\\") tokens.push(text[++at] ?? "\\");
    else if (character === "?") tokens.push(ANY_ONE);
    else if (character !== "*") tokens.push(character);
    else if (tokens.at(-1) !== ANY_NUMBER) tokens.push(ANY_NUMBER);
  }
  return tokens;
}

/** Longer sets are taken as text. */
const MAX_SET_LENGTH = 200;
const SET = /\[([!^]?)((?:\]|\[:[a-z]+:\]|\\.|[^\\\]])(?:\[:[a-z]+:\]|\\.|[^\\\]])*)\]/y;
const SET_PART = /\[:([a-z]+):\]|(\\.|[^\\])-(\\.|[^\\\]])|(\\.|[^\\])/g;
const CLASSES = new Map([
  ["alnum", /[\p{L}\p{N}]/u],
  ["alpha", /\p{L}/u],
  ["digit", /[0-9]/],
  ["lower", /\p{L}/u],
  ["punct", /[!-/:-@[-`{-~]/],
  ["space", /\s/],
  ["upper", /\p{L}/u],
  ["xdigit", /[0-9a-f]/],
]);

/** The set of characters that begins at a position; null if it is not closed. */
function setAt(text: string, at: number): { readonly set: CharacterSet; readonly end: number } | null {
  const pattern = new RegExp(SET);
  const [whole = "", negation = "", content = ""] = pattern.exec(text.slice(at, at + MAX_SET_LENGTH)) ?? [];
  if (whole === "") return null;
  const parts = [...content.matchAll(SET_PART)].map(([, name = "", from = "", to = "", single = ""]) => {
    const named = CLASSES.get(name);
    if (named !== undefined) return (character: string) => named.test(character);
    const [first = "", last = "", only = ""] = [from, to, single].map((part) => part.replace(/^\\/, ""));
    if (first !== "") return (character: string) => character >= first && character <= last;
    return (character: string) => character === only;
  });
  return { set: { isNegated: negation !== "", parts }, end: at + whole.length - 1 };
}
