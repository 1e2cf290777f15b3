/**
 * The interface of a launched program: what it needs to start, what the backend can do with it, and how it ended.
 */
import type { Readable } from "node:stream";

/** A program to start. */
export interface ProgramCommand {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Unique among running programs: processes that are left behind are recognised by it. */
  readonly workingDirectory: string;
  /** A file that the program finds open for reading as `INHERITED_DESCRIPTOR`; null if there is none. */
  readonly inheritedFile: string | null;
  /** Shell commands that limit the process before the program runs in it; empty if the program is not limited. */
  readonly limitCommands: readonly string[];
}

/** The first descriptor after standard input, output and error. */
export const INHERITED_DESCRIPTOR = 3;

/** A program that was started, or could not be. */
export interface LaunchedProgram {
  /** Its standard output. It ends when no process is left that could write to it. Null if the program could not be started. */
  readonly output: Promise<Readable | null>;
  /** The process below which the program runs; null if it could not be started. */
  readonly ancestorPid: Promise<number | null>;
  /** How it ended. Never rejects: if its shell ends first, it counts as failed. */
  readonly end: Promise<ProgramEnd>;
  /** Writes the whole of its standard input and closes it. @returns whether all of it was written. */
  write(pieces: readonly Buffer[]): Promise<boolean>;
  /** Kills it with everything that it has started. */
  kill(): void;
}

/** How a program ended, or why it never ran. */
export type ProgramEnd =
  | { readonly kind: "exited"; readonly exitCode: number; readonly diagnostics: string }
  | { readonly kind: "signalled"; readonly signal: string; readonly diagnostics: string }
  /** `reason` is for the log: it holds no path and no message of the system. */
  | { readonly kind: "failed"; readonly reason: string };
