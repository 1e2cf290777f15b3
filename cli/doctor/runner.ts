/**
 * Makes all checks of a deployment, one after the other, and reports each as soon as it is made.
 */
import { printable } from "../terminal.ts";
import { Allowance } from "./allowance.ts";
import { ANSWER_FAULTS, type Exchange, faultIn, outcomeOf } from "./answers.ts";
import type { Check, Finding, Measured } from "./check.ts";
import { CHECK_GROUPS } from "./checks.ts";
import { Examination, type ExaminationTarget } from "./examination.ts";
import type { Fault } from "./faults.ts";

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
  readonly status: "ok" | "warning" | "failure" | "skipped";
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
  const secrets = [target.token, target.backendToken, target.metricsToken].filter((secret) => secret !== "");
  const results: CheckResult[] = [];
  const passed = new Set<string>();
  try {
    for (const { name: group, isForOrigins, checks } of CHECK_GROUPS) {
      // All checks of one origin stand together.
      for (const server of isForOrigins ? examination.origins : [examination.edge]) {
        for (const check of checks) {
          signal.throwIfAborted();
          const missing = check.needs.find((id) => !passed.has(id) && !passed.has(`${id} ${server.name}`));
          const finding: Finding =
            missing === undefined
              ? await check.run(server, examination)
              : { kind: "skipped", seen: `needs ${missing}` };
          const { id, title } = check;
          const { seen, ...verdict } = verdictOf(check, finding);
          const result = { id, group, title, seen: shown(seen, secrets), origin: server.name, ...verdict };
          if (isPassed(check, result)) passed.add(server.name === null ? id : `${id} ${server.name}`);
          results.push(result);
          onResult?.(result);
        }
      }
    }
  } finally {
    examination.close();
  }
  return { checks: results, requests: allowance.requests, seconds: (performance.now() - startedAt) / 1000 };
}

type Verdict = Omit<CheckResult, "id" | "group" | "title" | "origin">;

function verdictOf({ faults, outcomes }: Check, finding: Finding): Verdict {
  const none = { fault: null, cause: null, advice: null, measured: {} };
  if (finding.kind === "skipped") return { ...none, status: "skipped", seen: finding.seen };
  const { fault, seen, measured } =
    finding.kind === "seen" ? finding : { ...faultIn(finding), measured: {}, ...ownFault(outcomes, finding) };
  if (fault === null) return { ...none, status: "ok", seen, measured };
  const known: Readonly<Record<string, Fault>> = { ...ANSWER_FAULTS, ...faults };
  const description = known[fault];
  if (description === undefined) throw new Error(`a check has found ${fault}, which is not one of its faults`);
  const { severity, cause, advice } = description;
  return { status: severity, seen, fault, cause, advice, measured };
}
/** The fault that an outcome shows, if it is one of the check's own. */
function ownFault(outcomes: Check["outcomes"], exchange: Exchange): { readonly fault?: string } {
  const fault = Object.entries(outcomes).find(([outcome]) => outcome === outcomeOf(exchange))?.[1];
  return fault === undefined ? {} : { fault };
}

/**
 * Whether the checks that need this one can be made: after one of its own warnings they can; after a fault from
 * `ANSWER_FAULTS` there was no answer to check.
 */
function isPassed({ faults }: Check, { status, fault }: CheckResult): boolean {
  return status === "ok" || (status === "warning" && Object.hasOwn(faults, fault ?? ""));
}

/** On one line, without secrets: a server may send back what it was sent, in the target of a redirect for example. */
function shown(seen: string, secrets: readonly string[]): string {
  const text = secrets
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .reduce((cleaned, secret) => cleaned.replaceAll(secret, "[token]"), seen)
    .replace(/\s+/g, " ");
  return printable(text.length > MAX_SEEN_LENGTH ? `${text.slice(0, MAX_SEEN_LENGTH)}…` : text);
}
