/**
 * The rules for the keys of `files`: each key by itself, and the set of them.
 *
 * The per-key numbers and the character class below are the contract; `KEY_PATTERN` folds them into one expression for
 * clients that prefer one. Only ASCII is allowed, so that case folding is ASCII and every file system agrees.
 */
import { type Limits, MAX_KEYS } from "./limits.ts";
import { type Problem, problem } from "./problem.ts";
import { quote } from "./quote.ts";
import type { SetRuleId } from "./rule-ids.ts";

/** Rises whenever a rule of this file changes. */
export const RULES_VERSION = 5;

/** What one key must satisfy, in the form in which it is published. */
export const KEY_RULES = {
  segment_character_class: "[A-Za-z0-9._-]",
  min_segment_length: 1,
  /** NAME_MAX of every file system in question. */
  max_segment_length: 255,
  segments_may_not_be_only_dots: true,
  min_key_length: 1,
  /**
   * Far below PATH_MAX (4096) less the room for the project's root, because a path costs the square of its depth to make
   * and to remove: with keys of 3840 characters, 64 of them kept a machine busy for three minutes; with these, a second.
   */
  max_key_length: 512,
} as const;

export const CASE_SENSITIVITY =
  "Keys are case-sensitive in the project and in imports, but two keys may not differ in case alone: keys are compared after mapping A-Z to a-z.";

/** The key rules as one PCRE: anchored by \A and \z, because `$` lets a trailing newline pass. */
export const KEY_PATTERN = keyPattern();

function keyPattern(): string {
  const { segment_character_class, min_segment_length, max_segment_length, min_key_length, max_key_length } = KEY_RULES;
  const length = `(?=.{${min_key_length},${max_key_length}}\\z)`;
  const firstSegmentIsNotDots = "(?!\\.+(?:/|\\z))";
  const laterSegmentsAreNotDots = "(?!.*/\\.+(?:/|\\z))";
  const segment = `${segment_character_class}{${min_segment_length},${max_segment_length}}`;
  return `\\A${length}${firstSegmentIsNotDots}${laterSegmentsAreNotDots}${segment}(?:/${segment})*\\z`;
}

const SEGMENT = new RegExp(
  `^${KEY_RULES.segment_character_class}{${KEY_RULES.min_segment_length},${KEY_RULES.max_segment_length}}$`,
);
const ONLY_DOTS = /^\.+$/;

/** Whether `key` satisfies every per-key rule. */
export function isValidKey(key: string): boolean {
  if (key.length < KEY_RULES.min_key_length || key.length > KEY_RULES.max_key_length) return false;
  return key.split("/").every((segment) => SEGMENT.test(segment) && !ONLY_DOTS.test(segment));
}

/** The whole-set rules in the order in which they are applied. */
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
 * Judges the keys of `files` as a set.
 *
 * @param keys the first keys of the set, each valid by itself; with more than MAX_KEYS entries none is looked at.
 * @param count how many entries the set has.
 * @returns the first rule broken, or null. A set over the deployment's cap alone carries no `rule`: no published set
 *   rule refuses it.
 */
export function judgeFileSet(keys: readonly string[], count: number, limits: Limits): Problem | null {
  if (count > MAX_KEYS) return tooManyFiles(count, MAX_KEYS, "too_many_keys");
  if (count > limits.effective_max_files) return tooManyFiles(count, limits.effective_max_files);
  return caseCollision(keys) ?? ancestorCollision(keys);
}

function tooManyFiles(count: number, limit: number, rule?: SetRuleId): Problem {
  const detail = `files holds ${count} entries; at most ${limit} are allowed.`;
  return problem("invalid_file_data", detail, { count, limit, ...(rule && { rule }) });
}

function caseCollision(keys: readonly string[]): Problem | null {
  const folded = new Set<string>();
  for (const key of keys) {
    if (folded.has(fold(key))) {
      const detail = `The files key ${quote(key)} equals another key when case is ignored.`;
      return problem("invalid_file_data", detail, { key, rule: "case_collision" });
    }
    folded.add(fold(key));
  }
  return null;
}

function ancestorCollision(keys: readonly string[]): Problem | null {
  // With NUL for the slash, which sorts before all else, a directory is followed at once by what lies below it. So
  // neighbours are enough: no list of all ancestors, whose size is the keys' times their depth.
  const sorted = keys.map((key) => fold(key).replaceAll("/", "\0")).sort();
  const directories = new Set(sorted.filter((path, index) => sorted[index + 1]?.startsWith(`${path}\0`)));
  const key = keys.find((candidate) => directories.has(fold(candidate).replaceAll("/", "\0")));
  if (key === undefined) return null;
  const detail = `The files key ${quote(key)} is also a directory of another key.`;
  return problem("invalid_file_data", detail, { key, rule: "ancestor_collision" });
}

/** ASCII lower case. Valid keys are ASCII, so this is their full case folding. */
function fold(key: string): string {
  return key.toLowerCase();
}
