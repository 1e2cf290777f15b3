/** The library for programs that send render requests: the service's verdict, from published constraints alone. */
import { RULES_VERSION } from "./files-rules.ts";
import { writeJsonText } from "./json/json-text.ts";
import { LIMIT_SETTINGS, type LimitName, publishedLimits, UNLIMITED } from "./limits.ts";
import { OUTPUT_RULES_VERSION } from "./output-rules.ts";
import { type Problem, requestTooLarge } from "./problem.ts";
import { parseRenderRequest } from "./render-request.ts";

export type { Problem, ProblemCode, ProblemDocument } from "./problem.ts";

/** The members of a constraints document that are used here. Others are ignored. */
export interface PublishedConstraints {
  readonly rules_version: number;
  readonly limits: PublishedLimits;
  readonly conformance_vectors: readonly PublishedVector<{ readonly keys: readonly string[] }>[];
  readonly output_rules: {
    readonly output_rules_version: number;
    readonly conformance_vectors: readonly PublishedVector<{ readonly output: object }>[];
  };
}

/** A limit that a deployment of another version lacks does not exist there. Unknown ones are not checked. */
type PublishedLimits = Readonly<Partial<Record<LimitName, number>> & { effective_max_files: number }>;

type PublishedVector<Input> = Input & {
  readonly accepted: boolean;
  readonly code?: string | null;
  readonly rule?: string | null;
};

export type Check =
  | { readonly verdict: "accepted" }
  /** The problem that the service would send in response to a request with `Content-Length`. */
  | { readonly verdict: "refused"; readonly problem: Problem }
  /** The deployment publishes rules that this version does not know: update the library. */
  | { readonly verdict: "unknown"; readonly disagreements: readonly Disagreement[] };

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
 * If the deployment's rules have another version, its conformance vectors decide whether the verdicts still hold there.
 * @param request the body as it will be sent: JSON text, its UTF-8 bytes, or a value to be serialised.
 * @param constraints the response of `GET /v1/constraints`, which `asConstraints` checks.
 * @throws TypeError for a value that JSON does not have, such as NaN, with its place
 */
export function checkRequest(request: unknown, constraints: PublishedConstraints): Check {
  if (!hasKnownVersions(constraints)) {
    const disagreements = runVectors(constraints);
    if (disagreements.length > 0) return { verdict: "unknown", disagreements };
  }
  const body = bodyOf(request);
  const limits = publishedLimits(constraints.limits);
  const limit = limits.max_request_body_bytes;
  if (body.length > limit) return { verdict: "refused", problem: requestTooLarge(body.length, limit) };
  const parsed = parseRenderRequest(body, limits);
  return parsed.ok ? { verdict: "accepted" } : { verdict: "refused", problem: parsed.problem };
}

export function runVectors(constraints: PublishedConstraints): Disagreement[] {
  return vectorRequests(constraints).flatMap(({ input, request, vector: { accepted, code = null, rule = null } }) => {
    const found = verdictOn(request);
    const isSame = accepted === found.accepted && code === found.code && rule === found.rule;
    return isSame ? [] : [{ input, published: { accepted, code, rule }, found }];
  });
}

function vectorRequests({ conformance_vectors, output_rules }: PublishedConstraints) {
  const ofKeys = conformance_vectors.map((vector) => {
    const files = Object.fromEntries(vector.keys.map((key) => [key, { encoding: "text", content: "" }]));
    return { vector, input: vector.keys, request: { source: "x", files } };
  });
  const ofOutput = output_rules.conformance_vectors.map((vector) => {
    return { vector, input: vector.output, request: { source: "x", output: vector.output } };
  });
  return [...ofKeys, ...ofOutput];
}

/** A fetched JSON value as constraints, or null when it is not a constraints document. */
export function asConstraints(value: unknown): PublishedConstraints | null {
  return isConstraints(value) ? value : null;
}

function verdictOn(request: object): Verdict {
  // Vectors test the rules. They hold in every deployment, whatever its limits.
  const parsed = parseRenderRequest(bodyOf(request), UNLIMITED);
  if (parsed.ok) return { accepted: true, code: null, rule: null };
  const { code, context } = parsed.problem;
  return { accepted: false, code, rule: "rule" in context ? (context.rule ?? null) : null };
}

function hasKnownVersions({ rules_version, output_rules }: PublishedConstraints): boolean {
  return rules_version === RULES_VERSION && output_rules.output_rules_version === OUTPUT_RULES_VERSION;
}

function bodyOf(request: unknown): Uint8Array {
  // Not `instanceof`: that would miss bytes of another realm, such as those of a test in jsdom.
  if (ArrayBuffer.isView(request)) return new Uint8Array(request.buffer, request.byteOffset, request.byteLength);
  return new TextEncoder().encode(typeof request === "string" ? request : writeJsonText(request));
}

function isConstraints(value: unknown): value is PublishedConstraints {
  if (!isRecord(value) || typeof value.rules_version !== "number") return false;
  const { limits, output_rules, conformance_vectors } = value;
  return (
    isRecord(limits) &&
    Number.isInteger(limits.effective_max_files) &&
    Object.keys(LIMIT_SETTINGS).every((name) => !Object.hasOwn(limits, name) || Number.isInteger(limits[name])) &&
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
