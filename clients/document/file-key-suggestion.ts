/** A valid key of `files` for a file whose own name the rules refuse, as close to that name as they allow. */
import { isValidKey, KEY_RULES } from "../../rules/files-rules.ts";

/** Letters that Unicode does not take apart into a Latin letter and its accents, and the German spelling of umlauts. */
const SPELLINGS = new Map([
  ...Object.entries({ ä: "ae", ö: "oe", ü: "ue", ß: "ss", æ: "ae", œ: "oe", ø: "o" }),
  ...Object.entries({ đ: "d", ð: "d", ł: "l", þ: "th", ħ: "h", ı: "i" }),
]);

const NOT_ALLOWED = new RegExp(KEY_RULES.segment_character_class.replace("[", "[^"));
/** Each needs a character and a slash. */
const MAX_SEGMENTS = KEY_RULES.max_key_length / 2;
const FALLBACK_STEM = "file";
/** Longer ones are no file extensions. */
const MAX_EXTENSION_LENGTH = 16;

/** A key that collides with no other. @param name a key or a path; returned unchanged if nothing is wrong with it */
export function suggestFileKey(name: string, taken: Iterable<string>): string {
  return suggestBeside(name, new TakenKeys(taken));
}

/** For each key that is invalid or collides with an earlier one, a valid key that does not collide. */
export function suggestFileKeys(keys: readonly string[]): Map<string, string> {
  const taken = new TakenKeys([]);
  const wrong: string[] = [];
  for (const key of keys) {
    if (isValidKey(key) && taken.avoid(key) === key) taken.add(key);
    else wrong.push(key);
  }
  const better = new Map<string, string>();
  for (const key of wrong) {
    const suggested = suggestBeside(key, taken);
    taken.add(suggested);
    better.set(key, suggested);
  }
  return better;
}

function suggestBeside(name: string, taken: TakenKeys): string {
  const suggested = taken.avoid(isValidKey(name) ? name : makeValidKey(name));
  if (isValidKey(suggested)) return suggested;
  // Too long with the numbers that avoid collisions.
  return taken.avoid(`${FALLBACK_STEM}${splitSegment(suggested.split("/").at(-1) ?? "").extension}`);
}

function makeValidKey(name: string): string {
  const path = name.replaceAll("\\", "/");
  const isElsewhere = /^[A-Za-z][A-Za-z0-9+.-]*:/.test(path);
  const named = path.split("/").filter((segment) => !/^\.*$/.test(segment));
  // Of an address, or of a path on a drive, only the file's own name means something in the project.
  const segments = named.slice(isElsewhere ? -1 : -MAX_SEGMENTS).map(makeValidSegment);
  let length = segments.reduce((sum, segment) => sum + segment.length + 1, -1);
  let first = 0;
  while (first < segments.length - 1 && length > KEY_RULES.max_key_length) {
    length -= (segments[first++]?.length ?? 0) + 1;
  }
  return segments.slice(first).join("/") || FALLBACK_STEM;
}

/** A name in an archive may be of any length. Its end has the extension. */
const MAX_SPELLED_LENGTH = 1000;

function makeValidSegment(segment: string): string {
  const { stem, extension } = splitSegment(spellInAscii(segment.slice(-MAX_SPELLED_LENGTH)));
  const end = replaceForbidden(extension.slice(1));
  return shortenStem(replaceForbidden(stem) || FALLBACK_STEM, end === "" ? "" : `.${end}`);
}

/** The umlauts of macOS are two characters, so they are joined first. */
function spellInAscii(text: string): string {
  const spelled = text.normalize("NFC").replace(/[^\0-\x7f]/g, (letter) => {
    const lower = letter.toLowerCase();
    const spelling = SPELLINGS.get(lower) ?? letter;
    return lower === letter ? spelling : spelling.charAt(0).toUpperCase() + spelling.slice(1);
  });
  return spelled.normalize("NFKD").replace(/\p{Mark}/gu, "");
}

/** Puts one hyphen between allowed characters for all that is not allowed there. */
function replaceForbidden(text: string): string {
  const parts = text.split(NOT_ALLOWED).map((part) => part.replace(/^-+|-+$/g, ""));
  return parts.filter((part) => part !== "").join("-");
}

function splitSegment(segment: string): { readonly stem: string; readonly extension: string } {
  const dot = segment.lastIndexOf(".");
  if (dot < 1 || segment.length - dot > MAX_EXTENSION_LENGTH) return { stem: segment, extension: "" };
  return { stem: segment.slice(0, dot), extension: segment.slice(dot) };
}

function shortenStem(stem: string, end: string): string {
  return stem.slice(0, KEY_RULES.max_segment_length - end.length) + end;
}

/** Keys, and the folders that they are in. Case is ignored, as by the rules. */
class TakenKeys {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  /** The last numbers that were tried for a name: there may be thousands of the same name. */
  readonly #tried = new Map<string, number>();

  constructor(keys: Iterable<string>) {
    for (const key of keys) this.add(key);
  }

  add(key: string): void {
    const folded = key.toLowerCase();
    this.#files.add(folded);
    // A folder with a longer path cannot be that of a valid key.
    for (let at = folded.indexOf("/"); at !== -1 && at <= KEY_RULES.max_key_length; at = folded.indexOf("/", at + 1)) {
      this.#folders.add(folded.slice(0, at));
    }
  }

  /** The key with a number in each segment that collides. */
  avoid(key: string): string {
    const segments = key.split("/");
    let path = "";
    for (const [index, segment] of segments.entries()) {
      const isFile = index === segments.length - 1;
      const { stem, extension } = splitSegment(segment);
      let candidate = path + segment;
      const name = candidate.toLowerCase();
      // Each number is taken by one key at most, so it ends.
      for (let number = this.#tried.get(name) ?? 1; this.#isTaken(candidate, isFile); ) {
        candidate = path + shortenStem(stem, `-${++number}${extension}`);
        this.#tried.set(name, number - 1);
      }
      path = isFile ? candidate : `${candidate}/`;
    }
    return path;
  }

  #isTaken(path: string, isFile: boolean): boolean {
    const folded = path.toLowerCase();
    return this.#files.has(folded) || (isFile && this.#folders.has(folded));
  }
}
