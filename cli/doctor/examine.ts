/**
 * Makes all checks of a deployment, one after the other, and reports each as soon as it is made.
 */
import { printable } from "../terminal.ts";
import { ANSWER_FAULTS } from "./answer-faults.ts";
import type { Check, CheckGroup, Fault, Measured, Status, Verdict } from "./check.ts";
import { CHECK_GROUPS } from "./checks.ts";
import { Examination, type ExaminationTarget, type OriginUnderTest } from "./examination.ts";
import { Allowance } from "./probe.ts";

/** An examination usually sends some forty requests, most of them for latencies, vectors and metrics. */
const MAX_REQUESTS = 60;
const MAX_REQUESTS_PER_ORIGIN = 25;
/** Bounds a whole examination, however many requests it may send. */
const TOTAL_MILLISECONDS = 300_000;
/** The edge keeps its metrics for five seconds. */
const METRICS_AGE_MILLISECONDS = 5500;
/** Longer texts from the deployment are cut. */
const MAX_SEEN_LENGTH = 300;

/** What one check has found: as the table shows it and `--json` prints it. */
export interface CheckResult {
  readonly id: string;
  readonly group: string;
  readonly title: string;
  readonly status: Status;
  /** What was seen, or why the check was skipped. */
  readonly seen: string;
  /** The id of the fault; null unless `status` is `warning` or `failure`. */
  readonly fault: string | null;
  readonly cause: string | null;
  readonly advice: string | null;
  /** The name of the origin that was asked directly; null for the deployment as a whole. */
  readonly origin: string | null;
  readonly measured: Measured;
}

export interface ExaminationReport {
  readonly checks: readonly CheckResult[];
  readonly requests: number;
  readonly seconds: number;
}

export interface ExaminationOptions {
  readonly requestMilliseconds: number;
  readonly signal: AbortSignal;
  readonly onResult?: (result: CheckResult) => void;
  /** For tests of an edge that keeps no metrics. */
  readonly metricsAgeMilliseconds?: number;
}

/** The most requests that an examination sends. */
export function maxRequests(target: ExaminationTarget): number {
  return MAX_REQUESTS + MAX_REQUESTS_PER_ORIGIN * target.origins.length;
}

/** @throws the reason of the signal when it is aborted */
export async function examine(
  target: ExaminationTarget,
  { requestMilliseconds, signal, onResult, metricsAgeMilliseconds = METRICS_AGE_MILLISECONDS }: ExaminationOptions,
): Promise<ExaminationReport> {
  const startedAt = performance.now();
  const bounds = { maxRequests: maxRequests(target), totalMilliseconds: TOTAL_MILLISECONDS };
  const allowance = new Allowance({ ...bounds, requestMilliseconds, signal });
  const examination = new Examination(target, allowance, metricsAgeMilliseconds);
  const checks: CheckResult[] = [];
  const well = new Set<string>();
  try {
    for (const { group, check, origin } of plan(examination)) {
      signal.throwIfAborted();
      const missing = check.needs.find((id) => !well.has(id) && !well.has(`${id} ${origin?.name}`));
      const verdict = missing === undefined ? await run(check, examination, origin) : notMade(missing);
      const result = resultOf(group, check, origin, verdict, [target.token, target.backendToken, target.metricsToken]);
      if (isWell(check, result)) well.add(origin === null ? check.id : `${check.id} ${origin.name}`);
      checks.push(result);
      onResult?.(result);
    }
  } finally {
    examination.close();
  }
  return { checks, requests: allowance.requests, seconds: (performance.now() - startedAt) / 1000 };
}

interface PlannedCheck {
  readonly group: CheckGroup;
  readonly check: Check;
  readonly origin: OriginUnderTest | null;
}

/** All checks of one origin stand together. */
function plan({ origins }: Examination): PlannedCheck[] {
  return CHECK_GROUPS.flatMap((group) => {
    const ofDeployment = group.checks.filter(({ at }) => at === "deployment");
    const ofOrigin = group.checks.filter(({ at }) => at === "origin");
    return [
      ...ofDeployment.map((check) => ({ group, check, origin: null })),
      ...origins.flatMap((origin) => ofOrigin.map((check) => ({ group, check, origin }))),
    ];
  });
}

/**
 * Whether the checks that need this one can be made: after one of its own warnings they can; after a fault from `ANSWER_FAULTS`
 * there was no answer to check.
 */
function isWell({ faults }: Check, { status, fault }: CheckResult): boolean {
  return status === "ok" || (status === "warning" && Object.hasOwn(faults, fault ?? ""));
}

function notMade(missing: string): Verdict {
  return { kind: "skipped", seen: `needs ${missing}` };
}

async function run(check: Check, examination: Examination, origin: OriginUnderTest | null): Promise<Verdict> {
  if (check.at === "deployment") return check.run(examination);
  if (origin === null) throw new Error("a check of an origin has no origin");
  return check.run(examination, origin);
}

function resultOf(
  { name: group }: CheckGroup,
  { id, title, faults }: Check,
  origin: OriginUnderTest | null,
  verdict: Verdict,
  secrets: readonly string[],
): CheckResult {
  const fault = verdict.kind === "fault" ? faultNamed(faults, verdict.fault) : null;
  const seen = withoutSecrets(verdict.seen, secrets).replace(/\s+/g, " ");
  return {
    id,
    group,
    title,
    status: fault?.severity ?? (verdict.kind === "ok" ? "ok" : "skipped"),
    seen: printable(seen.length > MAX_SEEN_LENGTH ? `${seen.slice(0, MAX_SEEN_LENGTH)}…` : seen),
    fault: verdict.kind === "fault" ? verdict.fault : null,
    cause: fault?.cause ?? null,
    advice: fault?.advice ?? null,
    origin: origin?.name ?? null,
    measured: "measured" in verdict ? verdict.measured : {},
  };
}

function faultNamed(own: Readonly<Record<string, Fault>>, name: string): Fault {
  const known: Readonly<Record<string, Fault>> = { ...ANSWER_FAULTS, ...own };
  const fault = known[name];
  if (fault === undefined) throw new Error(`a check has found ${name}, which is not one of its faults`);
  return fault;
}

/** A server may send back what it was sent, in the target of a redirect for example. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== "")
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .reduce((cleaned, secret) => cleaned.replaceAll(secret, "[token]"), text);
}
