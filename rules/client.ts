/**
 * For programs that send render requests: the service's own validation, against the published constraints of any
 * deployment, without the service. Runs in browsers, Node and Workers alike.
 */
import { FILES_KEY_RULES_DOCUMENT, OUTPUT_RULES_DOCUMENT } from "./constraints.ts";
import { validateDeclaredSize } from "./http/request-head.ts";
import { LIMIT_SETTINGS, type LimitName, type Limits, limitsFrom, MAX_KEYS } from "./limits.ts";
import type { Problem } from "./problem.ts";
import { parseRenderRequest } from "./render-request.ts";

export type { Problem, ProblemCode, ProblemDocument } from "./problem.ts";

/** What of a fetched constraints document is used here. Everything else in it is left alone. */
export interface PublishedConstraints {
  readonly rules_version: number;
  readonly limits: Readonly<Record<LimitName, number>>;
  readonly conformance_vectors: readonly PublishedVector<{ readonly keys: readonly string[] }>[];
  readonly output_rules: {
    readonly output_rules_version: number;
    readonly conformance_vectors: readonly PublishedVector<{ readonly output: object }>[];
  };
}

type PublishedVector<Input> = Input & {
  readonly accepted: boolean;
  readonly code?: string | null;
  readonly rule?: string | null;
};

/** What the service will say of a request. */
export type Check =
  | { readonly verdict: "accepted" }
  /** The problem that the service would answer to a request with `Content-Length`. */
  | { readonly verdict: "refused"; readonly problem: Problem }
  /** The deployment publishes rules that this code does not know: it must be brought up to date. */
  | { readonly verdict: "unknown"; readonly disagreements: readonly Disagreement[] };

/** A published vector on which this code comes to another verdict. */
export interface Disagreement {
  readonly input: object;
  readonly published: Verdict;
  readonly found: Verdict;
}

interface Verdict {
  readonly accepted: boolean;
  readonly code: string | null;
  readonly rule: string | null;
}

/**
 * Validates a render request as the deployment with these constraints will.
 *
 * Where the deployment's rules have another version than these, its conformance vectors decide whether this code still
 * validates alike.
 *
 * @param request the body as it will be sent: JSON text, its UTF-8 bytes, or a value to be serialised.
 * @param constraints the answer of `GET /v1/constraints`; see `asConstraints` for one of unknown shape.
 */
export function checkRequest(request: unknown, constraints: PublishedConstraints): Check {
  if (!hasKnownVersions(constraints)) {
    const disagreements = runVectors(constraints);
    if (disagreements.length > 0) return { verdict: "unknown", disagreements };
  }
  const body = bodyOf(request);
  const limits = limitsFrom(constraints.limits);
  const head = { contentLength: String(body.length), contentType: null, contentEncoding: null };
  const tooLarge = validateDeclaredSize(head, limits);
  if (tooLarge !== null) return { verdict: "refused", problem: tooLarge };
  const validation = parseRenderRequest(body, limits);
  return validation.ok ? { verdict: "accepted" } : { verdict: "refused", problem: validation.problem };
}

/** Runs a document's conformance vectors through these rules. An empty answer means that both validate alike. */
export function runVectors(constraints: PublishedConstraints): Disagreement[] {
  const disagreements: Disagreement[] = [];
  const compare = (
    input: object,
    request: object,
    { accepted, code = null, rule = null }: PublishedVector<unknown>,
  ) => {
    const published = { accepted, code, rule };
    const found = verdictOn(request);
    const isSame =
      published.accepted === found.accepted && published.code === found.code && published.rule === found.rule;
    if (!isSame) disagreements.push({ input, published, found });
  };
  for (const vector of constraints.conformance_vectors) {
    const files = Object.fromEntries(vector.keys.map((key) => [key, { encoding: "text", content: "" }]));
    compare(vector.keys, { source: "x", files }, vector);
  }
  for (const vector of constraints.output_rules.conformance_vectors) {
    compare(vector.output, { source: "x", output: vector.output }, vector);
  }
  return disagreements;
}

/**
 * A fetched JSON value as constraints.
 *
 * @returns null where the value is no constraints document.
 */
export function asConstraints(value: unknown): PublishedConstraints | null {
  return isConstraints(value) ? value : null;
}

/** Vectors speak of rules, not of a deployment's limits: as many files as the rules allow. */
const VECTOR_LIMITS: Limits = limitsFrom({
  max_inline_files: MAX_KEYS,
  max_inline_file_bytes: LIMIT_SETTINGS.max_inline_file_bytes.max,
  max_template_source_bytes: LIMIT_SETTINGS.max_template_source_bytes.max,
  max_string_bytes: LIMIT_SETTINGS.max_string_bytes.max,
  max_request_body_bytes: LIMIT_SETTINGS.max_request_body_bytes.max,
  max_output_bytes: LIMIT_SETTINGS.max_output_bytes.max,
  max_output_files: Number.MAX_SAFE_INTEGER,
});

function verdictOn(request: object): Verdict {
  const validation = parseRenderRequest(bodyOf(request), VECTOR_LIMITS);
  if (validation.ok) return { accepted: true, code: null, rule: null };
  const { code, context } = validation.problem;
  return { accepted: false, code, rule: "rule" in context ? (context.rule ?? null) : null };
}

function hasKnownVersions({ rules_version, output_rules }: PublishedConstraints): boolean {
  return (
    rules_version === FILES_KEY_RULES_DOCUMENT.rules_version &&
    output_rules.output_rules_version === OUTPUT_RULES_DOCUMENT.output_rules_version
  );
}

function bodyOf(request: unknown): Uint8Array {
  if (request instanceof Uint8Array) return request;
  return new TextEncoder().encode(typeof request === "string" ? request : JSON.stringify(request));
}

function isConstraints(value: unknown): value is PublishedConstraints {
  if (!isRecord(value) || typeof value.rules_version !== "number") return false;
  const { limits, output_rules, conformance_vectors } = value;
  return (
    isRecord(limits) &&
    Object.keys(LIMIT_SETTINGS).every((name) => Number.isInteger(limits[name])) &&
    isVectorList(conformance_vectors, ({ keys }) => Array.isArray(keys)) &&
    isRecord(output_rules) &&
    typeof output_rules.output_rules_version === "number" &&
    isVectorList(output_rules.conformance_vectors, ({ output }) => isRecord(output))
  );
}

function isVectorList(value: unknown, hasInput: (vector: Record<string, unknown>) => boolean): boolean {
  return Array.isArray(value) && value.every((vector) => isRecord(vector) && hasInput(vector));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
