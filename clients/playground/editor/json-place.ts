/** What a position in JSON belongs to, while the JSON is being written and need not be correct. */

export interface JsonPlace {
  /** The path to the value at the position, or to the object whose member is being named. */
  readonly path: readonly (string | number)[];
  readonly isName: boolean;
  /** Where the name or value begins; the position itself if there is none yet. */
  readonly from: number;
  /** The names of the object's other members, without the one at the position. */
  readonly names: ReadonlySet<string>;
}

interface Container {
  readonly isObject: boolean;
  readonly names: Set<string>;
  /** The name of the member that is being read. */
  key: string | null;
  index: number;
}

/** A longer string ends as if it were not closed: the data is not completed then. */
const TOKEN = /"(?:[^"\\\n]+|\\.){0,10000}"?|[[\]{}:,]|[^\s"[\]{}:,]+/g;
/** In UTF-16 code units. The whole text is read at each completion, and nobody writes a longer one by hand. */
const MAX_LENGTH = 256 * 1024;

/** The place at a position; null if nothing may be written there, or if the text is too long. */
export function placeInJson(text: string, position: number): JsonPlace | null {
  if (text.length > MAX_LENGTH) return null;
  const stack: Container[] = [];
  let place: JsonPlace | null | undefined;
  let inside: Container | undefined;
  let depth = 0;
  let last = "";
  for (const match of text.matchAll(TOKEN)) {
    const [token] = match;
    const end = match.index + token.length;
    const isPunctuation = /^[[\]{}:,]$/.test(token);
    const isClosed = token.length > 1 && token.startsWith('"') && token.endsWith('"');
    if (place === undefined && (isClosed ? end > position : end >= position) && !(isPunctuation && end === position)) {
      const from = !isPunctuation && match.index < position ? match.index : position;
      inside = stack.at(-1);
      depth = stack.length;
      place = placeAt(stack, last, from);
      // The object may have further names up to its end.
      if (inside === undefined || place === null) return place;
      if (from !== position) {
        last = token;
        continue;
      }
    }
    read(stack, token, last);
    last = token;
    if (place !== undefined && inside !== undefined && stack.length < depth) break;
  }
  return place === undefined ? placeAt(stack, last, position) : place;
}

function placeAt(stack: readonly Container[], last: string, from: number): JsonPlace | null {
  const inside = stack.at(-1);
  if (inside === undefined) return last === "" ? { path: [], isName: false, from, names: new Set() } : null;
  const outer = stack.slice(0, -1).map(segmentOf);
  const isName = inside.isObject && (last === "{" || last === ",");
  if (isName) return { path: outer, isName, from, names: inside.names };
  const mayBegin = inside.isObject ? last === ":" : last === "[" || last === ",";
  return mayBegin ? { path: [...outer, segmentOf(inside)], isName, from, names: inside.names } : null;
}

function read(stack: Container[], token: string, last: string): void {
  const inside = stack.at(-1);
  switch (token) {
    case "{":
    case "[":
      stack.push({ isObject: token === "{", names: new Set(), key: null, index: 0 });
      break;
    case "}":
    case "]":
      stack.pop();
      break;
    case ",":
      if (inside !== undefined) inside.index++;
      break;
    default:
      if (inside?.isObject && (last === "{" || last === ",")) {
        inside.key = nameOf(token);
        inside.names.add(inside.key);
      }
  }
}

function segmentOf({ isObject, key, index }: Container): string | number {
  return isObject ? (key ?? "") : index;
}

function nameOf(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}
