/**
 * Which files of a project Typst 0.15 cannot use as what their names promise: fonts and images of kinds that it does
 * not read, or that are cut off, and text that is not UTF-8. A name that promises nothing, such as `logo.bin`, is never
 * complained about.
 */
import { type FontObstacle, readFonts } from "../../typst/fonts/font-file.ts";
import { isFont, isWebFont } from "../../typst/fonts/font-names.ts";
import { type ImageKindName, isCutOff } from "./file-ends.ts";

export interface UnusableFile {
  readonly key: string;
  /** What follows the name in a sentence: "is not UTF-8: save it as UTF-8." */
  readonly message: string;
  /** Whether Typst may make a document with half of it. */
  readonly isCutOff: boolean;
}

interface ImageKind<Name = string> {
  readonly name: Name;
  /** The first is what a file should be named. */
  readonly extensions: readonly [string, ...string[]];
  /** How a file begins, in Latin-1. */
  readonly beginning: RegExp;
}

/** Typst looks for the marks of SVG and PDF this far (`ImageFormat::detect`). */
const HEAD_BYTES = 2048;

/** Typst goes by the end of the name, and by the content only where that is of none of these kinds. */
const READABLE_IMAGES: readonly ImageKind<ImageKindName>[] = [
  { name: "PNG", extensions: ["png"], beginning: /^\x89PNG/ },
  { name: "JPEG", extensions: ["jpg", "jpeg"], beginning: /^\xff\xd8\xff/ },
  { name: "GIF", extensions: ["gif"], beginning: /^GIF8/ },
  { name: "WebP", extensions: ["webp"], beginning: /^RIFF.{4}WEBP/s },
  { name: "PDF", extensions: ["pdf"], beginning: /%PDF-/ },
  { name: "SVG", extensions: ["svg", "svgz"], beginning: /^.\x8b|http:\/\/www\.w3\.org\/2000\/svg/ },
];
/** Files of these kinds are often named as one of the others. */
const OTHER_IMAGES: readonly ImageKind[] = [
  { name: "HEIC", extensions: ["heic", "heif"], beginning: /^.{4}ftyp(?:he|mif1|msf1)/s },
  { name: "AVIF", extensions: ["avif"], beginning: /^.{4}ftypavi/s },
  { name: "TIFF", extensions: ["tiff", "tif"], beginning: /^(?:II\*\0|MM\0\*)/ },
  { name: "BMP", extensions: ["bmp"], beginning: /^BM/ },
];
const FURTHER_IMAGE_EXTENSION = /^(?:eps|emf|ico|jp2|jxl|psd|wmf)$/;

const FONT_BEGINNING = /^(?:\0.\0\0|OTTO|true|ttcf)/;
const WEB_FONT_BEGINNING = /^wOF[F2]/;

/** What Typst's functions read as text. */
const TEXT_EXTENSION = /^(?:typ|csv|tsv|txt|md|json|ya?ml|toml|xml|bib|csl)$/;

export function findUnusableFiles(
  files: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>,
): UnusableFile[] {
  return [...files].flatMap(({ key, bytes }) => {
    const message = explainFile(key, bytes);
    return message === null ? [] : [{ key, message, isCutOff: message === CUT_OFF }];
  });
}

const CUT_OFF = "is cut off: its end is missing. Get the file again.";

function explainFile(key: string, bytes: Uint8Array): string | null {
  const extension = /\.([a-z0-9]{1,5})$/.exec(key.toLowerCase())?.[1] ?? "";
  if (TEXT_EXTENSION.test(extension)) return explainText(extension, bytes);
  const head = String.fromCharCode(...bytes.subarray(0, HEAD_BYTES));
  return explainFont(key, bytes, head) ?? explainImage(extension, bytes, head);
}

function explainText(extension: string, bytes: Uint8Array): string | null {
  // Typst drops the mark in its own sources, and in CSV, TOML, XML and YAML.
  const who = extension === "json" ? "json() refuses" : /^(?:txt|md)$/.test(extension) ? "read() keeps" : null;
  if (who !== null && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return `begins with a byte order mark, which ${who}: save it without one.`;
  }
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return null;
  } catch {
    return "is not UTF-8: save it as UTF-8.";
  }
}

const OBSTACLES: Readonly<Record<FontObstacle, string>> = {
  "cut off": CUT_OFF,
  "no tables": "lacks tables that Typst needs of a font: head, hhea, maxp and name.",
  "no PostScript name":
    "has no PostScript name in its table of names (ID 6), so Typst never sees it: add one with a font editor.",
  "no family": "has no family in its table of names (ID 1), so Typst never sees it: add one with a font editor.",
};

function explainFont(key: string, bytes: Uint8Array, head: string): string | null {
  if (isWebFont(key) || (isFont(key) && WEB_FONT_BEGINNING.test(head))) {
    const name = head.startsWith("wOFF") ? "WOFF" : "WOFF2";
    return explainWebFont(key, name);
  }
  if (!isFont(key)) return null;
  if (!FONT_BEGINNING.test(head)) return "is not a font that Typst reads.";
  const fonts = readFonts(bytes);
  if (fonts.length === 0) return CUT_OFF;
  const obstacle = fonts.find((font) => font.obstacle !== null)?.obstacle ?? null;
  return obstacle === null ? null : OBSTACLES[obstacle];
}

/** What follows the name of a font for web pages, with a command of fonttools that converts it. */
export function explainWebFont(key: string, kind = /2$/.test(key) ? "WOFF2" : "WOFF"): string {
  const plain = key.replace(/\.woff2?$/i, ".ttf");
  const command = plain === key ? "" : `: fonttools ttLib ${key} -o ${plain}`;
  return `is ${kind}, which Typst does not read. Convert it to TTF or OTF${command}`;
}

function explainImage(extension: string, bytes: Uint8Array, head: string): string | null {
  const isOfKind = ({ beginning }: ImageKind) => beginning.test(head);
  const isNamed = ({ extensions }: ImageKind) => extensions.includes(extension);
  const promised = READABLE_IMAGES.find(isNamed);
  if (promised === undefined) {
    const name = OTHER_IMAGES.find(isNamed)?.name ?? (FURTHER_IMAGE_EXTENSION.test(extension) ? extension : null);
    return name === null || READABLE_IMAGES.some(isOfKind) ? null : adviseConversion(name.toUpperCase());
  }
  if (isOfKind(promised)) return isCutOff(promised.name, bytes) ? CUT_OFF : null;
  const readable = READABLE_IMAGES.find(isOfKind);
  if (readable !== undefined) {
    return `is ${readable.name}, which is not read by this name: let the name end in .${readable.extensions[0]}.`;
  }
  const other = OTHER_IMAGES.find(isOfKind);
  if (other !== undefined) return adviseConversion(other.name);
  // The first tag of an SVG may be further away, and Typst itself says what is wrong with one.
  return promised.name === "SVG" ? null : `is not ${promised.name}.`;
}

function adviseConversion(name: string): string {
  return `is ${name}, which Typst does not read: convert it to PNG, JPEG or SVG.`;
}
