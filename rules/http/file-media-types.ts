/**
 * The media types of rendered files: those that a backend sends, and the only ones that the edge passes on as files.
 */
export const FILE_MEDIA_TYPES = {
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  zip: "application/zip",
} as const;

const MEDIA_TYPES: ReadonlySet<string> = new Set(Object.values(FILE_MEDIA_TYPES));

/** Whether a `Content-Type` is that of a rendered file. */
export function isFileMediaType(contentType: string | null): boolean {
  return contentType !== null && MEDIA_TYPES.has(contentType);
}
