/** What the page and its worker for schemas say to each other. */
import type { SchemaFinding } from "../data-schema/finding.ts";

export interface JudgeRequest {
  readonly id: number;
  readonly schema: string;
  readonly data: string;
}

export interface JudgeAnswer {
  readonly id: number;
  readonly verdict: SchemaVerdict;
}

/** Mistakes in the data, or in the schema itself. */
export interface SchemaVerdict {
  readonly of: "data" | "schema";
  readonly findings: readonly SchemaFinding[];
}
