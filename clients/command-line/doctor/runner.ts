/** Runs all checks of a deployment, one after the other, and reports each as soon as it is done. */
import { API_TOKEN_HEADER, BACKEND_TOKEN_HEADER, CALLER_HEADER } from "../../../protocol/headers.ts";
import { printable } from "../terminal.ts";
import { ANSWER_FAULTS, codeOf, faultIn } from "./answers.ts";
import {
  type CheckGroup,
  type DoctorCheck,
  type Examination,
  type ExaminationTarget,
  type Measured,
  type Observation,
  skipCheck,
} from "./check.ts";
import type { Fault } from "./faults.ts";
import { METRICS } from "./metrics.ts";
import { ORIGINS } from "./origins.ts";
import { REJECTIONS, RESPONSE_HEADERS } from "./rejections.ts";
import { RENDERS } from "./renders.ts";
import { RULES } from "./rules.ts";
import { type Bounds, Server } from "./server.ts";
import { SERVICE } from "./service.ts";

/** Bounds a whole examination, whose requests are those that its checks send. */
const TOTAL_MILLISECONDS = 300_000;
const MAX_SEEN_LENGTH = 300;

/** The groups, in the order in which they run. docs/doctor.md is made from them. */
export const CHECK_GROUPS: readonly CheckGroup[] = [
  ...[SERVICE, RULES, RENDERS, REJECTIONS, RESPONSE_HEADERS, METRICS, ORIGINS],
];

export interface CheckReport {
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
  readonly checks: readonly CheckReport[];
  readonly requests: number;
  readonly seconds: number;
}

export interface ExaminationOptions {
  readonly requestMilliseconds: number;
  readonly signal: AbortSignal;
  readonly onResult?: (result: CheckReport) => void;
}

/** @throws the reason of the signal when it is aborted */
export async function examine(
  target: ExaminationTarget,
  { requestMilliseconds, signal, onResult }: ExaminationOptions,
): Promise<ExaminationReport> {
  const startedAt = performance.now();
  const bounds: Bounds = {
    requestMilliseconds,
    end: AbortSignal.timeout(TOTAL_MILLISECONDS),
    interruption: signal,
    requests: 0,
  };
  const edge = new Server(null, target.url, { [API_TOKEN_HEADER]: target.token }, bounds);
  const credentials = { [BACKEND_TOKEN_HEADER]: target.backendToken, [CALLER_HEADER]: "doctor" };
  const origins = target.origins.map(({ name, url }) => new Server(name, url, credentials, bounds));
  const examination: Examination = { target, edge, constraints: null };
  const results: CheckReport[] = [];
  for (const group of CHECK_GROUPS) {
    for (const server of group === ORIGINS ? origins : [edge]) {
      for (const check of group.checks) {
        signal.throwIfAborted();
        const missing = (check.needs ?? group.needs).find((id) => !isPassed(id, server.name, results));
        const observation =
          missing === undefined ? await check.run(server, examination) : skipCheck(`needs ${missing}`);
        const { status, seen, measured, ...judged } = judgeObservation(check, observation);
        const about = { id: check.id, group: group.name, title: check.title };
        const shown = removeSecrets(seen, target);
        const result = { ...about, status, seen: shown, ...judged, origin: server.name, measured };
        results.push(result);
        onResult?.(result);
      }
    }
  }
  return { checks: results, requests: bounds.requests, seconds: (performance.now() - startedAt) / 1000 };
}

/** Whether a check of the edge or of this origin passed. One of its own warnings counts as passed. */
function isPassed(id: string, origin: string | null, results: readonly CheckReport[]): boolean {
  const result = results.find((earlier) => earlier.id === id && (earlier.origin ?? origin) === origin);
  if (result === undefined) return false;
  // After one of `ANSWER_FAULTS`, the check had nothing to judge.
  return result.status === "ok" || (result.status === "warning" && !Object.hasOwn(ANSWER_FAULTS, result.fault ?? ""));
}

function judgeObservation({ id, faults, faultOfCode = {} }: DoctorCheck, observation: Observation) {
  const isExchange = observation.kind === "answer" || observation.kind === "no-answer";
  const { seen, measured, ...found } = isExchange ? { ...faultIn(observation), measured: {} } : observation;
  const fault = (isExchange ? faultOfCode[codeOf(observation)] : undefined) ?? found.fault;
  const known: Readonly<Record<string, Fault>> = { ...ANSWER_FAULTS, ...faults };
  const details = fault === null ? null : known[fault];
  if (details === undefined) throw new Error(`${id} has found ${fault}, which is not one of its faults`);
  const status = details?.severity ?? (observation.kind === "skipped" ? "skipped" : "ok");
  const { cause = null, advice = null } = details ?? {};
  return { status, seen, fault, cause, advice, measured } as const;
}

/** A server may echo a token, for example in the target of a redirect. */
function removeSecrets(seen: string, { token, backendToken, metricsToken }: ExaminationTarget): string {
  const text = [token, backendToken, metricsToken]
    .flatMap((secret) => (secret === "" ? [] : [secret, encodeURIComponent(secret)]))
    .reduce((cleaned, secret) => cleaned.replaceAll(secret, "[token]"), seen)
    .replace(/\s+/g, " ");
  return printable(text.length > MAX_SEEN_LENGTH ? `${text.slice(0, MAX_SEEN_LENGTH)}…` : text);
}
