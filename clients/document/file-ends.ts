/**
 * Whether a file of an image ends too early, as half a download does. Typst 0.15 fills the rest of half a JPEG with grey,
 * under PDF/A too. A file may be anything: what is not as its kind should be is not said to be cut off.
 */

export type ImageKindName = "PNG" | "JPEG" | "GIF" | "WebP" | "PDF" | "SVG";

export function isCutOff(kind: ImageKindName, bytes: Uint8Array): boolean {
  return !HAS_END[kind](bytes);
}

const HAS_END: Readonly<Record<ImageKindName, (bytes: Uint8Array) => boolean>> = {
  PNG: hasPngEnd,
  JPEG: hasJpegEnd,
  GIF: hasGifEnd,
  WebP: hasWebPEnd,
  PDF: hasPdfEnd,
  SVG: hasSvgEnd,
};

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const PNG_END = 0x49454e44; // IEND

function hasPngEnd(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  // Each chunk has a length, a kind, data and a checksum.
  for (let at = 8; at + 12 <= bytes.length; at += 12 + view.getUint32(at)) {
    if (view.getUint32(at + 4) === PNG_END) return true;
  }
  return false;
}

/** Of a chunk that is longer than this: no pixels end with so many zeros. */
const MIN_WEBP_ZEROS = 64;

/** The length may be right although the rest never came: then there are zeros, which Typst draws as grey. */
function hasWebPEnd(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  if (8 + view.getUint32(4, true) > bytes.length) return false;
  // Each chunk has a kind, a length and data of an even length.
  for (let at = 12; at + 8 <= bytes.length; ) {
    const end = at + 8 + view.getUint32(at + 4, true);
    const isLong = end - at > 4 * MIN_WEBP_ZEROS;
    const isImage = WEBP_IMAGE.test(String.fromCharCode(...bytes.subarray(at, at + 4)));
    if (isImage && isLong && bytes.subarray(end - MIN_WEBP_ZEROS, end).every((byte) => byte === 0)) return false;
    at = end + (end % 2);
  }
  return true;
}

const WEBP_IMAGE = /^(?:VP8[ L]|ANMF)$/;

const JPEG = { mark: 0xff, end: 0xd9, firstAlone: 0xd0, lastAlone: 0xd8, temporary: 0x01 } as const;

/** Segments have a length. Pixels have none: a mark in them is followed by 0 or stands alone. */
function hasJpegEnd(bytes: Uint8Array): boolean {
  const view = viewOf(bytes);
  let at = 2;
  for (;;) {
    at = bytes.indexOf(JPEG.mark, at);
    if (at === -1 || at + 1 >= bytes.length) return false;
    const code = bytes[at + 1] ?? 0;
    if (code === JPEG.end) return true;
    if (code === JPEG.mark) at += 1;
    else if (code === 0 || code === JPEG.temporary || (code >= JPEG.firstAlone && code <= JPEG.lastAlone)) at += 2;
    else if (at + 4 > bytes.length) return false;
    else at += 2 + view.getUint16(at + 2);
  }
}

const GIF = { image: 0x2c, extension: 0x21, end: 0x3b } as const;

function hasGifEnd(bytes: Uint8Array): boolean {
  const colours = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));
  let at = 13 + colours(bytes[10] ?? 0);
  while (at < bytes.length) {
    const kind = bytes[at];
    if (kind === GIF.image) at += 11 + colours(bytes[at + 9] ?? 0);
    else if (kind === GIF.extension) at += 2;
    else return kind !== 0;
    // Blocks with their lengths, and an empty one.
    while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0);
    at += 1;
  }
  return false;
}

/** A PDF may begin with an end, if it is made for the web, and have something behind it, but no objects. */
function hasPdfEnd(bytes: Uint8Array): boolean {
  const text = new TextDecoder("latin1").decode(bytes);
  const end = text.lastIndexOf("%%EOF");
  return end !== -1 && text.indexOf("endobj", end) === -1;
}

/** A tag of `svg`, which may be inside of another. No tag is longer. */
const SVG_TAG = /<(\/?)(?:[\w.-]+:)?svg\b[^>]{0,100000}?(\/?)>/g;

/** Compressed ones are not looked at. */
function hasSvgEnd(bytes: Uint8Array): boolean {
  if (bytes[1] === 0x8b) return true;
  const [text = "", ...commented] = new TextDecoder().decode(bytes).split("<!--");
  const svg = [text, ...commented.map((part) => part.split("-->").slice(1).join("-->"))].join("");
  const tags = [...svg.matchAll(SVG_TAG)];
  const opened = tags.filter(([, closes, isEmpty]) => closes === "" && isEmpty === "").length;
  return tags.length > 0 && opened <= tags.filter(([, closes]) => closes !== "").length;
}
