/**
 * The name under which a rendered file is offered: the caller's suggestion, made safe.
 */
import { create } from "content-disposition";
import type { Extension } from "../render/outcome.ts";

/** Extensions that would lie about the content; any other is taken for a part of the name. */
const KNOWN_EXTENSION = /\.(?:pdf|png|svg|zip|jpe?g|typ)$/i;
const DEFAULT_STEM = "document";
const MAX_NAME_BYTES = 150;

/**
 * What no file name may hold: controls, format characters (bidirectional marks among them; the joiners that some scripts
 * are written with stay), separators of paths, lines and header parameters, quotes, and what a file system refuses.
 */
const UNSAFE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}/\\:;*?"'`<>|%]/gu;
/** What a name must not end in: systems drop it, and an extension hides before it. */
const TRAILING = /[.\s\u200c\u200d]+$/;
/** Allowed between characters; a name of nothing else would be invisible. */
const JOINERS = /[\u200c\u200d]/g;
/** Device names of Windows, whatever extension follows and however many spaces before it; superscript digits count as digits. */
const RESERVED_STEM = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(?:\.|$)/i;
/** What clients that know only the first edition of `Content-Disposition` cannot read. */
const NOT_ASCII = /[^ -~]/gu;

/**
 * The `Content-Disposition` of a rendered file (RFC 6266): an archive is to be saved, anything else may be shown.
 *
 * A name beyond ASCII has a second form for old clients, in which each character that they cannot read is `_`: the
 * library would write `?`, which no Windows file name may hold.
 */
export function contentDisposition(suggestion: string | null, extension: Extension): string {
  const name = safeFileName(suggestion, extension);
  const type = extension === "zip" ? "attachment" : "inline";
  return create(name, { type, fallback: name.replace(NOT_ASCII, "_") });
}

/** A name with the right extension, of at most 150 bytes of UTF-8. */
export function safeFileName(suggestion: string | null, extension: Extension): string {
  const visible = (suggestion ?? "").replace(UNSAFE, "").replace(/\s+/g, " ").trim();
  const stem = visible
    .replace(TRAILING, "")
    .replace(KNOWN_EXTENSION, "")
    .replace(TRAILING, "")
    .replace(/^[.\s]+/, "");
  const isEmpty = stem.replace(JOINERS, "") === "";
  const named = isEmpty ? DEFAULT_STEM : RESERVED_STEM.test(stem) ? `_${stem}` : stem;
  return `${truncate(named, MAX_NAME_BYTES - extension.length - 1)}.${extension}`;
}

function truncate(text: string, maxBytes: number): string {
  let size = 0;
  let result = "";
  for (const character of text) {
    size += Buffer.byteLength(character);
    if (size > maxBytes) break;
    result += character;
  }
  return result.replace(TRAILING, "");
}
