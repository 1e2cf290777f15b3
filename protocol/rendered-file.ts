/**
 * Rendered files in HTTP: the media types that a backend sends and the edge passes on, and the header fields of each.
 */
import { contentDisposition, type FileExtension } from "./file-name.ts";
import { NOT_STORED_HEADERS } from "./headers.ts";

export const FILE_MEDIA_TYPES = {
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  zip: "application/zip",
} as const satisfies Record<FileExtension, string>;

/** Opened by itself, an SVG runs no scripts and loads nothing, whatever the document has put into it. */
const SVG_HEADERS = {
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox",
} as const;

/** The extension of a file by its `Content-Type`; null if that is not of a rendered file. */
export function fileExtensionOf(contentType: string | null): FileExtension | null {
  const extensions = ["pdf", "png", "svg", "zip"] as const satisfies readonly FileExtension[];
  return extensions.find((extension) => FILE_MEDIA_TYPES[extension] === contentType) ?? null;
}

/**
 * The header fields of a rendered file, without its length and those of every response.
 *
 * @param suggestedName the file name that the request asks for, or null
 */
export function fileHeaders(extension: FileExtension, suggestedName: string | null): Readonly<Record<string, string>> {
  return {
    ...NOT_STORED_HEADERS,
    ...(extension === "svg" && SVG_HEADERS),
    "Content-Type": FILE_MEDIA_TYPES[extension],
    "Content-Disposition": contentDisposition(suggestedName, extension),
  };
}
