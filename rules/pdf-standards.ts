/** Apart from the schemas of the output, so that the types of the client package do not need valibot's. */

export const PDF_VERSIONS = ["1.4", "1.5", "1.6", "1.7", "2.0"] as const;

export const PDF_STANDARDS = [
  "a-1b",
  "a-1a",
  "a-2b",
  "a-2u",
  "a-2a",
  "a-3b",
  "a-3u",
  "a-3a",
  "a-4",
  "a-4f",
  "a-4e",
  "ua-1",
] as const;

export type PdfVersion = (typeof PDF_VERSIONS)[number];
export type PdfStandard = (typeof PDF_STANDARDS)[number];
