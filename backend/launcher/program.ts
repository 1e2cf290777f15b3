/** A program that a shell runs: what it needs to start, and how it ended. */

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

/** How a program ended. `diagnostics` is the beginning of its standard error, which is never logged or returned. */
export type ProgramEnd =
  | { readonly kind: "exited"; readonly exitCode: number; readonly diagnostics: string }
  | { readonly kind: "signalled"; readonly signal: string; readonly diagnostics: string }
  /** It never ran, or its end is unknown. `reason` is for the log: it holds no path and no message of the system. */
  | { readonly kind: "failed"; readonly reason: string };
