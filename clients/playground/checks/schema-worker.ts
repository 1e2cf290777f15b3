/**
 * The worker that judges data by a schema. It is a separate file, loaded when the first schema appears. The page can
 * end it, because a schema may take forever.
 */
import { readSchema } from "../../data-schema/data-schema.ts";
import type { JudgeRequest, SchemaVerdict, WorkerMessage } from "./schema-messages.ts";

addEventListener("message", ({ data }: MessageEvent<JudgeRequest>) => void answer(data));
say("ready");

async function answer(request: JudgeRequest): Promise<void> {
  say({ id: request.id, verdict: await verdictOn(request) });
}

function say(message: WorkerMessage): void {
  postMessage(message);
}

async function verdictOn({ schema, data }: JudgeRequest): Promise<SchemaVerdict> {
  const read = await readSchema(schema);
  if (!("schema" in read)) return { of: "schema", findings: read.findings };
  return { of: "data", findings: read.schema.judge(data).findings };
}
