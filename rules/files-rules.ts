/**
 * The rules for the keys of `files`: for each key, and for the whole set. `KEY_RULES` is the definition
 * (docs/api.md#key-rules). Only ASCII is allowed, so that case folding means the same on every file system.
 */
import { type Limits, MAX_KEYS } from "./limits.ts";
import { type Problem, problem, type SetRuleId } from "./problem.ts";
import { quote } from "./quote.ts";

export const RULES_VERSION = 5;

export const KEY_RULES = {
  segment_character_class: "[A-Za-z0-9._-]",
  min_segment_length: 1,
  max_segment_length: 255,
  segments_may_not_be_only_dots: true,
  min_key_length: 1,
  /**
   * Far below PATH_MAX (4096), because the time to create and remove a path grows with the square of its depth: 64 keys
   * of 3840 characters took three minutes, 64 keys of 512 characters a second.
   */
  max_key_length: 512,
} as const;

export const CASE_SENSITIVITY =
  "Keys are case-sensitive in the project and in imports, but two keys may not differ in case alone: keys are compared after mapping A-Z to a-z.";

/** The key rules as one PCRE, anchored by \A and \z because `$` also matches before a trailing newline. */
export const KEY_PATTERN = keyPattern();

function keyPattern(): string {
  const { segment_character_class, min_segment_length, max_segment_length, min_key_length, max_key_length } = KEY_RULES;
  const length = `(?=.{${min_key_length},${max_key_length}}\\z)`;
  const firstSegmentIsNotDots = "(?!\\.+(?:/|\\z))";
  const laterSegmentsAreNotDots = "(?!.*/\\.+(?:/|\\z))";
  const segment = `${segment_character_class}{${min_segment_length},${max_segment_length}}`;
  return `\\A${length}${firstSegmentIsNotDots}${laterSegmentsAreNotDots}${segment}(?:/${segment})*\\z`;
}

const SLASH = 0x2f;
const POINT = 0x2e;
const SEPARATOR = "\0";

const IS_SEGMENT_CHARACTER = Uint8Array.from({ length: 128 }, (_, code) =>
  new RegExp(`^${KEY_RULES.segment_character_class}$`).test(String.fromCharCode(code)) ? 1 : 0,
);

/** One pass without a copy, since a body may hold a million keys. */
export function isValidKey(key: string): boolean {
  const { length } = key;
  if (length < KEY_RULES.min_key_length || length > KEY_RULES.max_key_length) return false;
  let segmentStart = 0;
  let hasOtherThanDots = false;
  for (let at = 0; at <= length; at++) {
    const code = at < length ? key.charCodeAt(at) : SLASH;
    if (code === SLASH) {
      const segmentLength = at - segmentStart;
      if (segmentLength < KEY_RULES.min_segment_length || segmentLength > KEY_RULES.max_segment_length) return false;
      if (!hasOtherThanDots) return false;
      segmentStart = at + 1;
      hasOtherThanDots = false;
    } else if (IS_SEGMENT_CHARACTER[code] !== 1) {
      return false;
    } else if (code !== POINT) {
      hasOtherThanDots = true;
    }
  }
  return true;
}

const ALLOWED_CHARACTERS =
  "allowed are the letters A-Z and a-z, digits, dots, underscores, hyphens, and slashes between folders";

/** In words that follow "a key": what its author most likely meant goes first. An invalid key is never quoted. */
export function describeInvalidKey(key: string): string {
  if (key.length === 0) return "a key must not be empty";
  if (key.length > KEY_RULES.max_key_length) return `a key has at most ${KEY_RULES.max_key_length} characters`;
  if (key.includes("\\")) return "a key must separate folders by /, not by \\";
  const mustBeRelative = "a key is a path within the project, not an absolute path or a URL";
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(key)) return mustBeRelative;
  if (/[^\0-\x7f]/.test(key)) return `a key has only ASCII, so no umlauts or accents: ${ALLOWED_CHARACTERS}`;
  if (key.includes(" ")) return `a key must not contain spaces: ${ALLOWED_CHARACTERS}`;
  if ([...key].some((character) => character !== "/" && IS_SEGMENT_CHARACTER[character.charCodeAt(0)] !== 1)) {
    return `a key contains a character that is not allowed: ${ALLOWED_CHARACTERS}`;
  }
  if (key.startsWith("/")) return `${mustBeRelative}: leave out the slash at its beginning`;
  const segments = key.split("/");
  if (segments.includes("")) return "a key must not end with a slash, nor contain two in a row";
  if (segments.some((segment) => segment.length > KEY_RULES.max_segment_length)) {
    return `each part of a key between slashes has at most ${KEY_RULES.max_segment_length} characters`;
  }
  if (segments.includes("..")) return 'a key must not contain "..": it cannot lead out of the project';
  if (key.startsWith("./")) return 'a key must begin with the name itself, without "./"';
  return "no part of a key between slashes may consist of dots alone";
}

export const SET_RULES = [
  {
    id: "too_many_keys",
    error_code: "invalid_file_data",
    description: `Send at most ${MAX_KEYS} entries in files; a deployment may set a lower limit (effective_max_files). Checked first, because the other rules look at every key.`,
  },
  {
    id: "case_collision",
    error_code: "invalid_file_data",
    description: "Two keys are equal after mapping A-Z to a-z. Rename one of them.",
  },
  {
    id: "ancestor_collision",
    error_code: "invalid_file_data",
    description:
      "A key is also a directory of another key, after mapping A-Z to a-z (lib and LIB/x.typ). A path cannot be a file and a directory: rename one of them.",
  },
] as const satisfies readonly { readonly id: SetRuleId; readonly error_code: string; readonly description: string }[];

/**
 * The problem of the first set rule that is broken, or null. It has no `rule` where only the deployment's limit is
 * exceeded. @param keys valid keys: all of them, unless `count` is over a limit
 */
export function validateFileSet(keys: readonly string[], count: number, limits: Limits): Problem | null {
  if (count > MAX_KEYS) return tooManyFiles(count, MAX_KEYS, "too_many_keys");
  if (count > limits.effective_max_files) return tooManyFiles(count, limits.effective_max_files);
  // A single key collides with nothing. Most requests have few files or none.
  if (keys.length < 2) return null;
  const paths = keys.map(foldPath);
  return caseCollision(keys, paths) ?? ancestorCollision(keys, paths);
}

function tooManyFiles(count: number, limit: number, rule?: SetRuleId): Problem {
  const detail = `files has ${count} entries; the limit is ${limit}.`;
  return problem("invalid_file_data", detail, { count, limit, ...(rule && { rule }) });
}

function caseCollision(keys: readonly string[], paths: readonly string[]): Problem | null {
  const seen = new Set<string>();
  const key = keys.find((_, index) => {
    const path = paths[index] ?? "";
    return seen.has(path) || !seen.add(path);
  });
  if (key === undefined) return null;
  const detail = `The files key ${quote(key)} equals another key when case is ignored.`;
  return problem("invalid_file_data", detail, { key, rule: "case_collision" });
}

function ancestorCollision(keys: readonly string[], paths: readonly string[]): Problem | null {
  // NUL sorts before every other character, so the paths below a directory follow it directly, and comparing neighbours
  // is enough. A list of all ancestors would grow with the number of keys times their depth.
  const sorted = paths.toSorted();
  const directories = new Set(sorted.filter((path, index) => isDirectoryOf(path, sorted[index + 1])));
  const key = keys[paths.findIndex((path) => directories.has(path))];
  if (key === undefined) return null;
  const detail = `The files key ${quote(key)} is also a directory of another key.`;
  return problem("invalid_file_data", detail, { key, rule: "ancestor_collision" });
}

function isDirectoryOf(path: string, next: string | undefined): boolean {
  return next?.startsWith(path + SEPARATOR) === true;
}

/** A valid key in lower case, with NUL for each slash. `replaceAll` takes four times as long. */
function foldPath(key: string): string {
  return key.toLowerCase().split("/").join(SEPARATOR);
}
