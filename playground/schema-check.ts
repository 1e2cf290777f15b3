/**
 * The verdict on the data of a draft by its `data.schema.json`, from a worker that is started with the first schema. What is not
 * judged yet is judged while the page goes on; a render waits for it.
 */
import { SCHEMA_FILE } from "../data-schema/schema-file.ts";
import type { Draft } from "./draft.ts";
import type { Finding, Verdict } from "./findings.ts";
import type { JudgeRequest, SchemaVerdict, WorkerMessage } from "./schema-messages.ts";

/** Far above what any data takes: what takes longer never ends. */
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

/** The verdict on a draft with what its schema says; without it while its data is being judged. */
export function withSchemaVerdict(verdict: Verdict, judged: SchemaVerdict | null): Verdict {
  // Of data that is not JSON the service's own rules have said where.
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
  /** On what was asked last; null until it is there. */
  #verdict: SchemaVerdict | null = FITS;

  /** @param onVerdict is called when one has come that `verdictOn` did not have */
  constructor(onVerdict: () => void) {
    this.#onVerdict = onVerdict;
  }

  /** What is known of a draft; null while its data is being judged. */
  verdictOn(draft: Draft): SchemaVerdict | null {
    const schema = schemaOf(draft);
    if (schema === null) return FITS;
    const data = draft.data.trim() === "" ? "{}" : draft.data;
    if (schema === this.#asked.schema && data === this.#asked.data) return this.#verdict;
    // A worker that is still at the last one would answer both late.
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
    // It could not be loaded: the service judges the request without it.
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
