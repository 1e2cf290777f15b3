/**
 * What the backend and its spawner say to each other, over the channel between a Node process and its child.
 */
import type { SpawnCommand } from "../sandbox/sandbox.ts";

/** Tells a program from all others that one backend has started. */
export type ProgramId = number;

/** From the backend. */
export type SpawnerRequest =
  | { readonly kind: "start"; readonly id: ProgramId; readonly spawnCommand: SpawnCommand }
  | { readonly kind: "kill"; readonly id: ProgramId };

/** From the spawner. `killed` answers every kill; `ended` is the last word on a program, and comes for every one. */
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

/** What a program said besides its output. */
export interface ProgramWords {
  /** The first bytes of its standard error, one character each. */
  readonly diagnostics: string;
  /** The first bytes of what it wrote to file descriptor 4. */
  readonly status: string;
}
