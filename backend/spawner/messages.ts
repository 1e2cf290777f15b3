/**
 * The messages between the backend and its spawner, over the channel between a Node process and its child.
 */

/** Identifies one program among all that a backend has started. */
export type ProgramId = number;

/** A program to start. */
export interface SpawnCommand {
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Unique among running programs: processes that are left behind are recognised by it. */
  readonly workingDirectory: string;
  /** File descriptors in addition to the standard streams, from `FIRST_EXTRA_DESCRIPTOR` on, in this order. */
  readonly extraDescriptors: readonly ExtraDescriptor[];
}

/** After standard input, output and error. */
export const FIRST_EXTRA_DESCRIPTOR = 3;

export type ExtraDescriptor =
  /** A file, opened for reading. */
  | { readonly kind: "file"; readonly path: string }
  /** A pipe on which the program reports its status. At most one. */
  | { readonly kind: "report" };

/** From the backend. */
export type SpawnerRequest =
  | { readonly kind: "start"; readonly id: ProgramId; readonly spawnCommand: SpawnCommand }
  | { readonly kind: "kill"; readonly id: ProgramId };

/** From the spawner. Every kill is answered with `killed`. `ended` is sent once for every program, as the last report on it. */
export type SpawnerReport =
  | { readonly kind: "started"; readonly id: ProgramId; readonly pid: number }
  | { readonly kind: "killed"; readonly id: ProgramId }
  | { readonly kind: "ended"; readonly id: ProgramId; readonly end: ProgramEnd };

/** How a program ended, or why it never ran. */
export type ProgramEnd =
  | ({ readonly kind: "exited"; readonly exitCode: number } & ProgramWords)
  | ({ readonly kind: "signalled"; readonly signal: string } & ProgramWords)
  /** `reason` is for the log: it holds no path and no message of the system. */
  | { readonly kind: "failed"; readonly reason: string };

/** What a program wrote besides its output. */
export interface ProgramWords {
  /** The first bytes of its standard error, one character each. */
  readonly diagnostics: string;
  /** The first bytes of its report; empty if it has no descriptor for one. */
  readonly status: string;
}
