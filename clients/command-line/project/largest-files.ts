/** Lists the files that make a request large. */
import { sizeInWords } from "../../typescript/size-in-words.ts";

export interface Sized {
  readonly key: string;
  readonly bytes: number;
  /** The bytes that it takes in the body, if known. */
  readonly sentBytes?: number;
}

const MAX_LISTED = 5;

/** The largest files, one line each, below a line that says how many files there are. */
export function largestInWords(files: readonly Sized[]): string[] {
  const largest = files.toSorted((one, other) => other.bytes - one.bytes).slice(0, MAX_LISTED);
  return [
    files.length > MAX_LISTED ? `The ${MAX_LISTED} largest of its ${files.length} files:` : "Its files:",
    ...largest.map(({ key, bytes, sentBytes = bytes }) => {
      const sent = sentBytes === bytes ? "" : `, ${sizeInWords(sentBytes)} in the request`;
      return `  ${key}: ${sizeInWords(bytes)}${sent}`;
    }),
  ];
}
