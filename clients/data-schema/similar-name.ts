/** "Did you mean": finds the known name or path that was meant by a misspelt one. */

/** Longer names are not compared: the time grows with the product of the lengths. */
const MAX_NAME_LENGTH = 100;

/** The closest known name, or null. Up to three typing mistakes are close, and so is another style of name. */
export function similarName(name: string, candidates: Iterable<string>): string | null {
  if (name.length > MAX_NAME_LENGTH) return null;
  const wanted = simplify(name);
  let best: string | null = null;
  // One mistake for every three letters. With one or two letters, any other name would be just as close.
  let bestDistance = Math.min(Math.floor(name.length / 3), 3) + 1;
  for (const candidate of candidates) {
    if (candidate === name || candidate.length > MAX_NAME_LENGTH) continue;
    const known = simplify(candidate);
    if (known === wanted) return candidate;
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = distanceOf(wanted, known);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** The word that a quoted one was meant to be. @param list of Typst: `"a", "b", or "c"` */
export function similarWord(quoted: string, list: string): string | null {
  const words = Array.from(list.matchAll(/"([^"]+)"/g), ([, word = ""]) => word);
  return /^".*"$/.test(quoted) ? similarName(quoted.slice(1, -1), words) : null;
}

/** The same for `unit_price`, `unitPrice` and `Unit-Price`, which are easily confused. */
function simplify(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, "");
}

/** How many letters have to be added, left out, changed, or swapped with the next one. */
function distanceOf(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const change = from[row - 1] === to[column - 1] ? 0 : 1;
      let least = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + change);
      if (from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        least = Math.min(least, (beforeLast[column - 2] ?? Number.POSITIVE_INFINITY) + 1);
      }
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

/** The path that is most like a wrong one, or null. One of the same name comes first: in another folder, or with an extension. */
export function closestPath(wrong: string, paths: readonly string[]): string | null {
  const names = paths.map(nameOf);
  const pathOf = (name: string | null) => (name === null ? null : (paths[names.indexOf(name)] ?? null));
  const wanted = nameOf(wrong).toLowerCase();
  const moved = names.find((name) => name.toLowerCase() === wanted) ?? null;
  const longer = names.find((name) => name.toLowerCase().startsWith(`${wanted}.`)) ?? null;
  return pathOf(moved ?? longer) ?? similarName(wrong, paths) ?? pathOf(similarName(nameOf(wrong), names));
}

/** A question on the family of fonts that was meant: one that is like a missing one, or has a word more or less. */
export function suggestFamily(families: readonly string[]): (missing: string) => string {
  const isPart = (whole: string, part: string) => whole.toLowerCase().startsWith(`${part.toLowerCase()} `);
  return (missing) => {
    const longer = families.find((family) => isPart(family, missing) || isPart(missing, family));
    return didYouMean(similarName(missing, families) ?? longer ?? null);
  };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** ` Did you mean …?`, to be put after a sentence; empty if nothing is close. */
export function didYouMean(closest: string | null): string {
  return closest === null ? "" : ` Did you mean ${closest}?`;
}
