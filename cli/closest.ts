/**
 * "Did you mean": what exists and is spelled most like a name that does not.
 */
import { posix } from "node:path";
import { closestMatch } from "leven";

/** More changed letters than this, or more than half of them, are another word. */
const MAX_DISTANCE = 3;

/** The name most like the wrong one; null if none is like it. Case does not count. */
export function closestName(wrong: string, names: readonly string[]): string | null {
  const maxDistance = Math.min(MAX_DISTANCE, Math.floor(wrong.length / 2));
  const folded = names.map((name) => name.toLowerCase());
  const found = closestMatch(wrong.toLowerCase(), folded, { maxDistance });
  return found === undefined ? null : (names[folded.indexOf(found)] ?? null);
}

/** The same for a path with `/`: a file of the same name in another folder counts first. */
export function closestPath(wrong: string, paths: readonly string[]): string | null {
  const name = posix.basename(wrong).toLowerCase();
  const moved = paths.find((path) => posix.basename(path).toLowerCase() === name);
  return moved ?? closestName(wrong, paths) ?? pathOfName(posix.basename(wrong), paths);
}

function pathOfName(wrong: string, paths: readonly string[]): string | null {
  const names = paths.map((path) => posix.basename(path));
  const found = closestName(wrong, names);
  return found === null ? null : (paths[names.indexOf(found)] ?? null);
}

/** ` Did you mean …?`, to be put after a sentence; empty if nothing is close. */
export function didYouMean(closest: string | null): string {
  return closest === null ? "" : ` Did you mean ${closest}?`;
}
