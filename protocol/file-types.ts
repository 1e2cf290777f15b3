/** The types of rendered files. It imports nothing, because every client has it. */

const FILE_EXTENSIONS = ["pdf", "png", "svg", "zip"] as const;

export type FileExtension = (typeof FILE_EXTENSIONS)[number];

export const FILE_MEDIA_TYPES = {
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  zip: "application/zip",
} as const satisfies Record<FileExtension, string>;

/** The name of a file whose request suggests none. */
export const DEFAULT_STEM = "document";

export function fileExtensionOf(contentType: string | null): FileExtension | null {
  return FILE_EXTENSIONS.find((extension) => FILE_MEDIA_TYPES[extension] === contentType) ?? null;
}
