/**
 * Judges the data of a draft by its `data.schema.json`, in a worker that is started when the first schema appears. The
 * page goes on meanwhile; only a render waits for the verdict.
 */
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import type { Draft } from "../drafts/draft.ts";
import type { Finding, Verdict } from "./findings.ts";
import type { JudgeRequest, SchemaVerdict, WorkerMessage } from "./schema-messages.ts";

/** Far longer than any reasonable data takes: a longer run would probably never end. */
const MAX_JUDGE_MILLISECONDS = 5_000;

const FITS: SchemaVerdict = { of: "data", findings: [] };
const TOOK_TOO_LONG: SchemaVerdict = {
  of: "schema",
  findings: [
    {
      path: "",
      pointer: "",
      offset: 0,
      length: 1,
      line: 1,
      column: 1,
      message: "took too long for the data: look for a pattern such as (a+)+$ or for references that branch",
    },
  ],
};

/** The schema of a draft; null if it has none. */
export function schemaOf({ files }: Draft): string | null {
  const value = files.find(({ key }) => key === SCHEMA_FILE)?.content.value;
  return typeof value === "string" ? value : null;
}

/** Adds the verdict by the schema to a verdict on the draft. While the data is being judged, nothing is added. */
export function withSchemaVerdict(verdict: Verdict, judged: SchemaVerdict | null): Verdict {
  // If the data is not JSON, the service's own rules have already reported that, with the place.
  if (judged === null || judged.findings.length === 0 || (!verdict.ok && verdict.problem === null)) return verdict;
  const findings = judged.findings.map(({ offset, length, line, column, path, message }): Finding => {
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
  readonly #onVerdict: () => void;
  #worker: Worker | null = null;
  #isReady = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked: JudgeRequest = { id: 0, schema: "", data: "" };
  /** The verdict on the draft that was judged last; null while it is being judged. */
  #verdict: SchemaVerdict | null = FITS;

  /** @param onVerdict is called when a verdict arrives that `verdictOn` could not return yet */
  constructor(onVerdict: () => void) {
    this.#onVerdict = onVerdict;
  }

  /** The verdict on a draft; null while its data is being judged. */
  verdictOn(draft: Draft): SchemaVerdict | null {
    const schema = schemaOf(draft);
    if (schema === null) return FITS;
    const data = draft.data.trim() === "" ? "{}" : draft.data;
    if (schema === this.#asked.schema && data === this.#asked.data) return this.#verdict;
    // A worker that is still busy with the previous data would delay this verdict, too.
    if (this.#verdict === null && this.#isReady) this.#end();
    this.#ask({ id: this.#asked.id + 1, schema, data });
    return null;
  }

  #ask(request: JudgeRequest): void {
    this.#asked = request;
    this.#verdict = null;
    this.#worker ??= this.#start();
    this.#worker.postMessage(request);
    if (this.#isReady) this.#startTimer();
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#end();
      this.#settle(TOOK_TOO_LONG);
    }, MAX_JUDGE_MILLISECONDS);
  }

  #start(): Worker {
    const worker = new Worker("/playground/schema-worker.js", { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<WorkerMessage>) => {
      if (data === "ready") {
        this.#isReady = true;
        this.#startTimer();
      } else if (data.id === this.#asked.id) this.#settle(data.verdict);
    });
    // The worker could not be loaded. The request is then sent without a verdict by the schema.
    worker.addEventListener("error", () => {
      this.#end();
      this.#settle(FITS);
    });
    return worker;
  }

  #settle(verdict: SchemaVerdict): void {
    clearTimeout(this.#timer);
    this.#verdict = verdict;
    this.#onVerdict();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#worker?.terminate();
    this.#worker = null;
    this.#isReady = false;
  }
}
