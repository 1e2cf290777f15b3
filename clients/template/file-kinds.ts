/** What the extension of a file means for Typst, and which functions read such files: the one table of both. */

const IMAGES = ["png", "jpg", "jpeg", "gif", "webp", "svg", "pdf"] as const;

/** What Typst's functions read, by the extensions of their files; null for any. */
export const FILE_FUNCTIONS: ReadonlyMap<string, readonly string[] | null> = new Map<string, readonly string[] | null>([
  ["include", ["typ"]],
  ["import", ["typ"]],
  ["image", IMAGES],
  ["read", null],
  ["json", ["json"]],
  ["csv", ["csv", "tsv"]],
  ["toml", ["toml"]],
  ["yaml", ["yaml", "yml"]],
  ["xml", ["xml"]],
  ["cbor", ["cbor"]],
  ["bibliography", ["bib", "yaml", "yml"]],
  ["plugin", ["wasm"]],
  ["attach", null],
]);

/** Those that read data. */
export const DATA_FUNCTIONS: ReadonlySet<string> = new Set(["json", "yaml", "toml", "csv", "cbor", "xml", "read"]);

const DATA = ["json", "csv", "tsv", "toml", "yaml", "yml", "xml", "cbor"] as const;
const LISTS = ["jsonl", "ndjson", "txt"] as const;
const OF_TYPST = ["typ", "bib", "csl"] as const;

const setOf = (...lists: readonly (readonly string[])[]): ReadonlySet<string> => new Set(lists.flat());

/** Files of data, of which a template may have its own. */
const DATA_FILES = setOf(DATA, ["txt"]);
/** Texts that may hold names of files. */
const TEXTS_WITH_NAMES = setOf(
  DATA.filter((one) => one !== "cbor"),
  LISTS,
);
/** Texts that a document may show. */
const TEXTS = setOf([...TEXTS_WITH_NAMES], ["typ", "md", "bib", "svg"]);
/** No secrets: programs make them in folders that are ignored. */
const PICTURES_OR_SOURCES = setOf(
  IMAGES.filter((one) => one !== "pdf"),
  OF_TYPST,
);
/** All that Typst reads, but for PDFs, which are manuals unless a source names them. */
const READABLE = setOf(
  IMAGES.filter((one) => one !== "pdf"),
  DATA,
  OF_TYPST,
  ["wasm", "txt", "tmtheme", "ftl"],
);

/** In lower case, without the dot; empty if there is none. */
export function extensionOf(path: string): string {
  return /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}

export const isDataFile = (path: string) => DATA_FILES.has(extensionOf(path));
export const mayHaveNames = (path: string) => TEXTS_WITH_NAMES.has(extensionOf(path));
export const isShownText = (path: string) => TEXTS.has(extensionOf(path));
export const isPictureOrSource = (path: string) => PICTURES_OR_SOURCES.has(extensionOf(path));
export const isReadableByTypst = (path: string) => READABLE.has(extensionOf(path));

export function isTypst(path: string): boolean {
  return path.endsWith(".typ");
}
