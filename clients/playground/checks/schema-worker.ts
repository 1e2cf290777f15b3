/** The worker that judges data by a schema: a separate file, loaded when the first schema appears. */
import { readSchema } from "../../data-schema/data-schema.ts";
import type { SchemaFinding } from "../../data-schema/finding.ts";
import { answerQuestions } from "../page/timed-worker.ts";

export interface JudgeRequest {
  readonly schema: string;
  readonly data: string;
}

export interface SchemaVerdict {
  readonly of: "data" | "schema";
  readonly findings: readonly SchemaFinding[];
}

answerQuestions(Promise.resolve(), async ({ schema, data }: JudgeRequest): Promise<SchemaVerdict> => {
  const read = await readSchema(schema);
  if (!("schema" in read)) return { of: "schema", findings: read.findings };
  return { of: "data", findings: read.schema.judge(data).findings };
});
