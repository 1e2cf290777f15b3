/**
 * "Did you mean": what exists and is spelled most like a name that does not.
 */
import { posix } from "node:path";
import { similarName } from "../data-schema/similar-name.ts";

/** The path with `/` most like the wrong one; null if none is like it. A file of the same name in another folder counts first. */
export function closestPath(wrong: string, paths: readonly string[]): string | null {
  const name = posix.basename(wrong).toLowerCase();
  const moved = paths.find((path) => posix.basename(path).toLowerCase() === name);
  return moved ?? similarName(wrong, paths) ?? pathOfName(posix.basename(wrong), paths);
}

function pathOfName(wrong: string, paths: readonly string[]): string | null {
  const names = paths.map((path) => posix.basename(path));
  const found = similarName(wrong, names);
  return found === null ? null : (paths[names.indexOf(found)] ?? null);
}

/** ` Did you mean …?`, to be put after a sentence; empty if nothing is close. */
export function didYouMean(closest: string | null): string {
  return closest === null ? "" : ` Did you mean ${closest}?`;
}
