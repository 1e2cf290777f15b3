/**
 * Lists all file names that the rules for keys reject, each with a better one.
 */
import type { ServiceProblem } from "../../client/client.ts";
import { suggestFileKey } from "../../client/file-key-suggestion.ts";
import { quote } from "../../rules/quote.ts";

/** Further names are only counted. */
const MAX_LISTED = 50;

/** One line for each wrong name, if the problem is about names. */
export function nameDetails(problem: ServiceProblem, keys: readonly string[]): string[] {
  const isOfNames =
    problem.code === "invalid_template_path" ||
    (problem.code === "invalid_file_data" && "rule" in problem.context && problem.context.rule !== "too_many_keys");
  if (!isOfNames) return [];
  const names = betterNames(keys);
  const lines = [...names].slice(0, MAX_LISTED).map(([key, better]) => `${quote(key)}: rename it to ${better}`);
  return names.size > MAX_LISTED ? [...lines, `… and ${names.size - MAX_LISTED} more.`] : lines;
}

/** Each key that is invalid or collides with an earlier one, with a valid key that does not collide. */
function betterNames(keys: readonly string[]): Map<string, string> {
  const taken = new Set(keys);
  const better = new Map<string, string>();
  const seen: string[] = [];
  for (const key of keys) {
    taken.delete(key);
    const withoutEarlier = suggestFileKey(key, seen);
    const suggested = withoutEarlier === key ? key : suggestFileKey(key, [...seen, ...taken]);
    if (suggested !== key) better.set(key, suggested);
    seen.push(suggested);
  }
  return better;
}
