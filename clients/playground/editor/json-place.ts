/** What a position in JSON belongs to, while the JSON is being written and need not be correct. */
import { parseJson } from "../../typescript/transport.ts";

export interface JsonPlace {
  readonly path: readonly (string | number)[];
  readonly isName: boolean;
  /** Where the name or value begins; the position itself if there is none yet. */
  readonly from: number;
  readonly names: ReadonlySet<string>;
}

interface Container {
  readonly isObject: boolean;
  readonly names: Set<string>;
  segment: string | number;
}

/** A longer string ends as if it were not closed: the data is not completed then. */
const TOKEN = /"(?:[^"\\\n]+|\\.?){0,10000}"?|[[\]{}:,]|[^\s"[\]{}:,]+/g;
/** In UTF-16 code units. All before the position is read at each completion, and nobody writes that much by hand. */
const MAX_LENGTH = 256 * 1024;

/** The place at a position; null if nothing may be written there, or if the text is too long. */
export function placeInJson(text: string, position: number): JsonPlace | null {
  if (text.length > MAX_LENGTH) return null;
  const stack: Container[] = [];
  let last = "";
  for (const { 0: token, index } of text.slice(0, position).matchAll(TOKEN)) {
    const isComplete = /^(?:[[\]{}:,]|".*")$/s.test(token);
    if (!isComplete && index + token.length === position) return placeAt(stack, last, index);
    read(stack, token, last);
    last = token;
  }
  return placeAt(stack, last, position);
}

function placeAt(stack: readonly Container[], last: string, from: number): JsonPlace | null {
  const inside = stack.at(-1);
  if (inside === undefined) return last === "" ? { path: [], isName: false, from, names: new Set() } : null;
  const path = stack.map(({ segment }) => segment);
  if (isNameNext(inside, last)) return { path: path.slice(0, -1), isName: true, from, names: inside.names };
  const mayBegin = inside.isObject ? last === ":" : last === "[" || last === ",";
  return mayBegin ? { path, isName: false, from, names: inside.names } : null;
}

function read(stack: Container[], token: string, last: string): void {
  const inside = stack.at(-1);
  if (token === "{" || token === "[") {
    const isObject = token === "{";
    stack.push({ isObject, names: new Set(), segment: isObject ? "" : 0 });
  } else if (token === "}" || token === "]") {
    stack.pop();
  } else if (token === "," && typeof inside?.segment === "number") {
    inside.segment++;
  } else if (inside !== undefined && token !== "," && isNameNext(inside, last)) {
    inside.segment = String(parseJson(token) ?? token);
    inside.names.add(inside.segment);
  }
}

function isNameNext({ isObject }: Container, last: string): boolean {
  return isObject && (last === "{" || last === ",");
}
