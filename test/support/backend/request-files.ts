/** Entries of the `files` of a render request. */
export interface SentFile {
  readonly encoding: "text" | "base64";
  readonly content: string;
}

export const textFile = (content: string): SentFile => ({ encoding: "text", content });
export const binaryFile = (bytes: Uint8Array): SentFile => ({
  encoding: "base64",
  content: Buffer.from(bytes).toString("base64"),
});
