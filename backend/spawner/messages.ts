/**
 * What the backend and its spawner say to each other, over the channel between a Node process and its child.
 */
import type { Launch } from "../sandbox/sandbox.ts";

/** Tells a process from all others that one backend has started. */
export type ProcessId = number;

/** From the backend. */
export type SpawnerRequest =
  | { readonly kind: "start"; readonly id: ProcessId; readonly launch: Launch }
  | { readonly kind: "kill"; readonly id: ProcessId };

/** From the spawner; `ended` is the last word on a process, and comes for every one. */
export type SpawnerReport =
  | { readonly kind: "started"; readonly id: ProcessId; readonly pid: number }
  | { readonly kind: "ended"; readonly id: ProcessId; readonly end: ProcessEnd };

/** How a started program ended: `exitCode` or `signal`; or neither and a `failure`, where it never ran. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly failure: string | null;
  /** The first bytes of its standard error, one character each. */
  readonly diagnostics: string;
  /** The first bytes of what it wrote to file descriptor 4. */
  readonly status: string;
}
