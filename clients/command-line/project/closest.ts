/**
 * "Did you mean": finds the existing name that is most like one that does not exist.
 */
import { posix } from "node:path";
import { similarName } from "../../data-schema/similar-name.ts";

/**
 * The path (with `/`) that is most like a wrong one; null if none is. A file of the same name in another folder comes
 * first.
 */
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
