/**
 * The worker that judges data by a schema. It is a file of its own, loaded with the first schema; and the page can end it, since
 * a schema may take for ever.
 */
import { readSchema } from "../data-schema/data-schema.ts";
import type { JudgeAnswer, JudgeRequest, SchemaVerdict } from "./schema-messages.ts";

addEventListener("message", ({ data }: MessageEvent<JudgeRequest>) => void answer(data));

async function answer(request: JudgeRequest): Promise<void> {
  const verdict: JudgeAnswer = { id: request.id, verdict: await verdictOn(request) };
  postMessage(verdict);
}

async function verdictOn({ schema, data }: JudgeRequest): Promise<SchemaVerdict> {
  const read = await readSchema(schema);
  if (!("schema" in read)) return { of: "schema", findings: read.findings };
  return { of: "data", findings: read.schema.judge(data).findings };
}
