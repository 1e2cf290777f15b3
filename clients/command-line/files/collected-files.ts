/** The files of a request, within the bounds of what any service accepts, and in words. */
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { sizeInWords } from "../../document/size-in-words.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";

/** No request may carry this many files, so reading more would be in vain. */
export const MAX_FILES = 5000;
/** The longest body that a deployment can allow. A body is never shorter than its files. */
const MAX_BYTES = LIMIT_SETTINGS.max_request_body_bytes.max;

export class CollectedFiles extends Map<string, Buffer> {
  #bytes = 0;

  /** @throws CommandError when there are too many files or bytes */
  override set(key: string, bytes: Buffer): this {
    if (this.size >= MAX_FILES) throw tooManyFiles();
    super.set(key, bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_BYTES) {
      refuseIfTooLarge(Array.from(this, ([name, content]) => ({ key: name, bytes: content.length })));
    }
    return this;
  }
}

/** @throws CommandError when no service accepts that much */
export function refuseIfTooLarge(files: readonly Sized[]): void {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes <= MAX_BYTES) return;
  const sentence = `request_too_large: the files of the project have ${sizeInWords(bytes)}; no service accepts a request of more than ${sizeInWords(MAX_BYTES)}.`;
  const lines = [sentence, ...largestInWords(files).map((line) => `  ${line}`)];
  throw new CommandError(lines.join("\n"), EXIT_CODES.request);
}

export function tooManyFiles(): CommandError {
  return new CommandError(
    `The project has more than ${MAX_FILES} files. Select those that it needs with --files, or exclude others in .renderignore.`,
  );
}

export interface Sized {
  readonly key: string;
  readonly bytes: number;
  /** The bytes that it takes in the body, if known. */
  readonly sentBytes?: number;
}

const MAX_LISTED = 5;

/** The largest files, source and data, one line each. */
export function largestInWords(files: readonly Sized[]): string[] {
  const largest = files.toSorted((one, other) => other.bytes - one.bytes).slice(0, MAX_LISTED);
  return [
    files.length > MAX_LISTED ? "Its largest parts:" : "Its parts:",
    ...largest.map(({ key, bytes, sentBytes = bytes }) => {
      const sent = sentBytes === bytes ? "" : `, ${sizeInWords(sentBytes)} in the request`;
      return `  ${key}: ${sizeInWords(bytes)}${sent}`;
    }),
  ];
}
