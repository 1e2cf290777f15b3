/** Judges the data of a draft by its `data.schema.json`, in a worker. Only a render waits for the verdict. */
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import type { Draft } from "../drafts/draft.ts";
import { TimedWorker } from "../page/timed-worker.ts";
import type { DraftFinding, Verdict } from "./findings.ts";
import type { JudgeRequest, SchemaVerdict } from "./schema-worker.ts";

const MAX_JUDGE_MILLISECONDS = 5_000;

const FITS: SchemaVerdict = { of: "data", findings: [] };
const SLOW = "took too long for the data: look for a pattern such as (a+)+$ or for references that branch";
const TOOK_TOO_LONG: SchemaVerdict = {
  of: "schema",
  findings: [{ path: "", pointer: "", offset: 0, length: 1, line: 1, column: 1, message: SLOW }],
};

function schemaOf({ files }: Draft): string | null {
  const value = files.find(({ key }) => key === SCHEMA_FILE)?.content.value;
  return typeof value === "string" ? value : null;
}

/** Adds the verdict by the schema to a verdict on the draft. While the data is being judged, nothing is added. */
export function withSchemaVerdict(verdict: Verdict, judged: SchemaVerdict | null): Verdict {
  // If the data is not JSON, the service's own rules have already reported that, with the place.
  if (judged === null || judged.findings.length === 0 || (!verdict.ok && verdict.problem === null)) return verdict;
  const findings = judged.findings.map(({ offset, length, line, column, path, message }): DraftFinding => {
    const sentence = `${path === "" ? "" : `${path}: `}${message}.`;
    return judged.of === "data"
      ? { place: { field: "data", offset, length }, message: sentence }
      : { place: { field: "files", keys: [SCHEMA_FILE] }, message: `Line ${line}, column ${column}: ${sentence}` };
  });
  if (!verdict.ok) return { ...verdict, findings: [...verdict.findings, ...findings] };
  const detail =
    judged.of === "data"
      ? `The data does not fit ${SCHEMA_FILE}.`
      : `${SCHEMA_FILE} is not a JSON Schema, version 2020-12.`;
  return { ok: false, problem: { code: "invalid_request", detail, context: {} }, findings };
}

export class SchemaCheck {
  readonly #worker = new TimedWorker<JudgeRequest, SchemaVerdict>(
    "playground/schema-worker.js",
    MAX_JUDGE_MILLISECONDS,
  );
  readonly #onVerdict: () => void;
  #asked: JudgeRequest = { schema: "", data: "" };
  #verdict: SchemaVerdict | null = FITS;

  constructor(onVerdict: () => void) {
    this.#onVerdict = onVerdict;
  }

  verdictOn(draft: Draft): SchemaVerdict | null {
    const schema = schemaOf(draft);
    if (schema === null) return FITS;
    const data = draft.data.trim() === "" ? "{}" : draft.data;
    if (schema !== this.#asked.schema || data !== this.#asked.data) void this.#judge({ schema, data });
    return this.#verdict;
  }

  async #judge(asked: JudgeRequest): Promise<void> {
    // A worker that is still busy with the previous data would delay this verdict, too.
    if (this.#verdict === null && this.#worker.isReady) this.#worker.end();
    this.#asked = asked;
    this.#verdict = null;
    const answer = await this.#worker.ask(asked);
    if (answer === "too slow") this.#verdict = TOOK_TOO_LONG;
    // Without its worker, the request is sent without a verdict by the schema.
    else this.#verdict = answer === "not loaded" ? FITS : answer;
    this.#onVerdict();
  }
}
