/** Rendered files in HTTP: their header fields, and their names, made safe of what the caller suggests. */
import { create } from "content-disposition";
import { isArchive, type Output } from "../rules/output-options.ts";
import { DEFAULT_STEM, FILE_MEDIA_TYPES, type FileExtension } from "./file-types.ts";
import { NOT_STORED_HEADERS } from "./headers.ts";

/** Opened by itself, an SVG runs no scripts and loads nothing, whatever the document has put into it. */
const SVG_HEADERS = {
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox",
} as const;

/** Without its length and the fields of every response. */
export function fileHeaders(output: Output): Readonly<Record<string, string>> {
  const extension = isArchive(output) ? "zip" : output.format;
  return {
    ...NOT_STORED_HEADERS,
    ...(extension === "svg" && SVG_HEADERS),
    "Content-Type": FILE_MEDIA_TYPES[extension],
    "Content-Disposition": contentDisposition(output.filename, extension),
  };
}

/** Extensions that would be wrong for the content. Any other is part of the name. */
const KNOWN_EXTENSION = /\.(?:pdf|png|svg|zip|jpe?g|typ)$/i;
const MAX_NAME_BYTES = 150;

/**
 * Controls, format characters (bidirectional marks, but not the joiners of some scripts), separators of paths, lines
 * and header parameters, quotes, and what file systems reject.
 */
const UNSAFE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}/\\:;*?"'`<>|%]/gu;
/** Removed from the end of names: some systems drop it, and it hides an extension before it. */
const TRAILING = /[.\s\u200c\u200d]+$/;
/** Joiners are allowed, but a name that consists only of them would be invisible. */
const JOINERS = /[\u200c\u200d]/g;
/** Device names of Windows, with any extension and any spaces before it. Superscript digits count as digits. */
const RESERVED_STEM = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(?:\.|$)/i;
/** Characters that clients without `filename*` (RFC 6266, section 4.3) cannot read. */
const NOT_ASCII = /[^ -~]/gu;

/**
 * RFC 6266. A name beyond ASCII has a second form for old clients, with `_` for what they cannot read: the library
 * would write `?`, which Windows does not allow in file names.
 */
export function contentDisposition(suggestion: string | null, extension: FileExtension): string {
  if (suggestion === null) return UNNAMED[extension];
  return dispositionOf(suggestion, extension);
}

function dispositionOf(suggestion: string, extension: FileExtension): string {
  const name = safeFileName(suggestion, extension);
  const type = extension === "zip" ? "attachment" : "inline";
  return create(name, { type, fallback: name.replace(NOT_ASCII, "_") });
}

/** Ready-made values for files without a suggested name, which nearly all are. */
const UNNAMED: Readonly<Record<FileExtension, string>> = {
  pdf: dispositionOf("", "pdf"),
  png: dispositionOf("", "png"),
  svg: dispositionOf("", "svg"),
  zip: dispositionOf("", "zip"),
};

/** The suggested name, made safe, with the right extension, at most 150 bytes of UTF-8. */
export function safeFileName(suggestion: string | null, extension: FileExtension): string {
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
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read).replace(TRAILING, "");
}
