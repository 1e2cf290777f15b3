/**
 * Runs all checks of a deployment, one after the other, and reports each as soon as it is done.
 */
import { printable } from "../terminal.ts";
import { Allowance } from "./allowance.ts";
import { ANSWER_FAULTS, faultIn, outcomeOf } from "./answers.ts";
import { type Check, type Finding, type Measured, skipped } from "./check.ts";
import { CHECK_GROUPS } from "./checks.ts";
import { Examination, type ExaminationTarget } from "./examination.ts";
import type { Fault } from "./faults.ts";
import { ORIGINS } from "./origins.ts";
import type { Server } from "./server.ts";

/** An examination usually sends some forty requests, most of them for latencies, vectors and metrics. */
const MAX_REQUESTS = 60;
const MAX_REQUESTS_PER_ORIGIN = 25;
/** Bounds a whole examination, however many requests it may send. */
const TOTAL_MILLISECONDS = 300_000;
/** The edge keeps its metrics for five seconds. */
const METRICS_AGE_MILLISECONDS = 5500;
/** Longer texts from the deployment are cut. */
const MAX_SEEN_LENGTH = 300;

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
  /** Only for tests, with an edge that does not cache its metrics. */
  readonly metricsAgeMilliseconds?: number;
}

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
  const results: CheckResult[] = [];
  try {
    for (const group of CHECK_GROUPS) {
      for (const server of group === ORIGINS ? examination.origins : [examination.edge]) {
        for (const check of group.checks) {
          signal.throwIfAborted();
          const missing = check.needs.find((id) => !isPassed(id, server.name, results));
          const finding = missing === undefined ? await check.run(server, examination) : skipped(`needs ${missing}`);
          const result = resultOf({ group: group.name, check, server, finding }, target);
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

/**
 * Whether a check of the edge or of this origin passed, so that those that need it can run. One of its own warnings
 * counts as passed.
 */
function isPassed(id: string, origin: string | null, results: readonly CheckResult[]): boolean {
  const result = results.find((earlier) => earlier.id === id && (earlier.origin ?? origin) === origin);
  if (result === undefined) return false;
  // After one of `ANSWER_FAULTS`, the check had nothing to judge.
  return result.status === "ok" || (result.status === "warning" && !Object.hasOwn(ANSWER_FAULTS, result.fault ?? ""));
}

interface MadeCheck {
  readonly group: string;
  readonly check: Check;
  readonly server: Server;
  readonly finding: Finding;
}

function resultOf({ group, check, server, finding }: MadeCheck, target: ExaminationTarget): CheckResult {
  const { id, title, faults, outcomes } = check;
  const isExchange = finding.kind === "answer" || finding.kind === "no-answer";
  const { seen, measured, ...found } = isExchange ? { ...faultIn(finding), measured: {} } : finding;
  const fault = (isExchange ? outcomes[outcomeOf(finding)] : undefined) ?? found.fault;
  const known: Readonly<Record<string, Fault>> = { ...ANSWER_FAULTS, ...faults };
  const details = fault === null ? null : known[fault];
  if (details === undefined) throw new Error(`${id} has found ${fault}, which is not one of its faults`);
  const status = details?.severity ?? (finding.kind === "skipped" ? "skipped" : "ok");
  const { cause = null, advice = null } = details ?? {};
  return { id, group, title, status, seen: shown(seen, target), fault, cause, advice, origin: server.name, measured };
}

/** On one line, without secrets: a server may echo them, for example in the target of a redirect. */
function shown(seen: string, { token, backendToken, metricsToken }: ExaminationTarget): string {
  const text = [token, backendToken, metricsToken]
    .flatMap((secret) => (secret === "" ? [] : [secret, encodeURIComponent(secret)]))
    .reduce((cleaned, secret) => cleaned.replaceAll(secret, "[token]"), seen)
    .replace(/\s+/g, " ");
  return printable(text.length > MAX_SEEN_LENGTH ? `${text.slice(0, MAX_SEEN_LENGTH)}…` : text);
}
