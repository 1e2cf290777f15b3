/** The messages between the page and its worker for schemas. */
import type { SchemaFinding } from "../../data-schema/finding.ts";

export interface JudgeRequest {
  readonly id: number;
  readonly schema: string;
  readonly data: string;
}

export interface JudgeAnswer {
  readonly id: number;
  readonly verdict: SchemaVerdict;
}

/** The worker reports once that it is loaded, which takes long on a slow line. */
export type WorkerMessage = "ready" | JudgeAnswer;

/** Mistakes in the data, or in the schema itself. */
export interface SchemaVerdict {
  readonly of: "data" | "schema";
  readonly findings: readonly SchemaFinding[];
}
