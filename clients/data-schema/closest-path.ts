/**
 * "Did you mean": finds the existing name that is most like one that does not exist.
 */
import { similarName } from "./similar-name.ts";

/**
 * The path (with `/`) that is most like a wrong one; null if none is. A file of the same name in another folder comes
 * first.
 */
export function closestPath(wrong: string, paths: readonly string[]): string | null {
  const name = nameOf(wrong).toLowerCase();
  const moved = paths.find((path) => nameOf(path).toLowerCase() === name);
  return moved ?? similarName(wrong, paths) ?? pathOfName(nameOf(wrong), paths);
}

function pathOfName(wrong: string, paths: readonly string[]): string | null {
  const names = paths.map((path) => nameOf(path));
  const found = similarName(wrong, names);
  return found === null ? null : (paths[names.indexOf(found)] ?? null);
}

/** The part after the last `/`. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** ` Did you mean …?`, to be put after a sentence; empty if nothing is close. */
export function didYouMean(closest: string | null): string {
  return closest === null ? "" : ` Did you mean ${closest}?`;
}
