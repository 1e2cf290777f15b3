/**
 * What bounds the service when it has many edges and backends: docs/deploy/scale.md. The same simulation under a steady
 * load, of which figures are counted instead of invariants checked.
 */
import { BACKEND_INTEGER_SETTINGS } from "../../backend/settings.ts";
import { MAX_BODY_BYTES_IN_MEMORY } from "../../edge/body/body-memory.ts";
import { readRenderTime } from "../../rules/render-time.ts";
import type { AttemptFacts, RequestFacts } from "./facts.ts";
import { Random } from "./random.ts";
import {
  LARGEST_BODY_BYTES,
  type PlannedFault,
  type PlannedRequest,
  type Schedule,
  type SimulatedSettings,
} from "./schedule.ts";
import { runSchedule } from "./world.ts";

/** How many edges and backends there are, and what they have to do. */
export interface Scale {
  readonly edges: number;
  readonly backends: number;
  readonly slots: number;
  readonly quietPerSecond: number;
  /** Of one caller that floods the service. */
  readonly loudPerSecond: number;
  /** How many requests may wait at one backend. */
  readonly maxWaiting: number;
  readonly seconds: number;
  /** Whether each backend is restarted once, spread over the time. */
  readonly isRestarted: boolean;
}

export type Figures = Awaited<ReturnType<typeof measureScale>>;

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;
const QUIET_CALLERS = 9;
const LOUD_CALLER = "loud";
/** The 99th percentile of the standard normal distribution. */
const NORMAL_P99 = 2.326;
const RENDER_MILLISECONDS = { p50: 100, p99: 2000, longest: 15_000 } as const;
const BODY_BYTES = { p50: 16 * KIBIBYTE, p99: MEBIBYTE, longest: LARGEST_BODY_BYTES } as const;
/** From the client to the edge, and from the edge to the backend. */
const CLIENT_BYTES_PER_MILLISECOND = 5000;
const BACKEND_BYTES_PER_MILLISECOND = 100_000;
const DELIVERY_MILLISECONDS = 5;
/** The longest between edge and backend, each way. */
const LATENCY_MILLISECONDS = 1;
/** How long a backend that is restarted takes to be ready. */
const BOOT_MILLISECONDS = 5000;

function makeScaleSchedule(seed: number, scale: Scale): Schedule {
  const random = new Random(seed);
  const { edges, backends, quietPerSecond, loudPerSecond, seconds, isRestarted } = scale;
  const quiet = Math.round(quietPerSecond * seconds);
  const count = quiet + Math.round(loudPerSecond * seconds);
  const requests = Array.from({ length: count }, (_, id): PlannedRequest => {
    const bytes = Math.ceil(logNormal(random, BODY_BYTES));
    return {
      id,
      at: random.next() * seconds * 1000,
      edge: random.integer(0, edges - 1),
      caller: id < quiet ? `quiet-${(id % QUIET_CALLERS) + 1}` : LOUD_CALLER,
      bytes,
      uploadMilliseconds: bytes / CLIENT_BYTES_PER_MILLISECOND,
      forwardMilliseconds: bytes / BACKEND_BYTES_PER_MILLISECOND,
      renderMilliseconds: logNormal(random, RENDER_MILLISECONDS),
      deliveryMilliseconds: DELIVERY_MILLISECONDS,
      isFaulty: false,
      poison: null,
      refusal: null,
      leavesAfterMilliseconds: null,
      isLeavingNoticed: true,
    };
  });
  const faults = Array.from({ length: isRestarted ? backends : 0 }, (_, backend): PlannedFault => {
    return {
      kind: "drain",
      backend,
      at: ((backend + 0.5) / backends) * seconds * 1000,
      milliseconds: BOOT_MILLISECONDS,
    };
  });
  return { seed, scenario: "measurement", settings: settingsOf(scale), requests, faults };
}

function settingsOf({ edges, backends, slots, maxWaiting }: Scale): SimulatedSettings {
  const times = readRenderTime({});
  return {
    ...times,
    edges,
    backends,
    slots,
    maxWaiting,
    absent: [],
    full: [],
    drainDelayMilliseconds: 0,
    graceMilliseconds: times.backendTimeoutSeconds * 1000,
    largestBodyBytes: LARGEST_BODY_BYTES,
    edgeMemoryBytes: MAX_BODY_BYTES_IN_MEMORY,
    backendMemoryBytes: BACKEND_INTEGER_SETTINGS.maxBodyMemoryBytes.default,
    maxLatencyMilliseconds: LATENCY_MILLISECONDS,
    maxTimerDelayMilliseconds: LATENCY_MILLISECONDS,
  };
}

export async function measureScale(seed: number, scale: Scale) {
  const { requests, probes, violation } = await runSchedule(makeScaleSchedule(seed, scale));
  if (violation !== null) throw new Error(`${violation.invariant}: ${violation.detail}`);
  const attempts = requests.flatMap((request) => request.attempts.map((attempt) => ({ request, attempt })));
  const wasted = attempts.filter(({ attempt }) => attempt.isSent && attempt.end !== "answered");
  const refused = requests.filter(({ answers }) => answers[0]?.status === 429);
  const waits = requests.flatMap((request) => waitOf(request) ?? []);
  const quiet = requests.filter(isQuiet);
  const quietWaits = quiet.flatMap((request) => waitOf(request) ?? []);
  const used = requests.reduce((sum, { planned }) => sum + planned.renderMilliseconds, 0);
  return {
    requests: requests.length,
    /** The part of the slots that the renders need. */
    use: used / (scale.slots * scale.backends * scale.seconds * 1000),
    refused: refused.length,
    refusedThoughFree: requests.filter(({ isRefusedThoughFree }) => isRefusedThoughFree).length,
    quiet: quiet.length,
    quietRefused: refused.filter(isQuiet).length,
    /** Answered with anything but a render or 429. */
    failed: requests.filter(({ answers }) => answers[0]?.status !== 429 && answers[0]?.isRendered !== true).length,
    /** Those that began to wait at a backend while another one had a free slot. */
    waitedThoughFree: requests.filter(({ hasWaitedThoughFree }) => hasWaitedThoughFree).length,
    /** Uploads that ended in no answer for the client. */
    wastedUploads: wasted.length,
    wastedBytes: wasted.reduce((sum, { request }) => sum + request.planned.bytes, 0),
    medianWaitSeconds: quantile(waits, 0.5),
    p99WaitSeconds: quantile(waits, 0.99),
    longestWaitSeconds: quantile(waits, 1),
    quietP99WaitSeconds: quantile(quietWaits, 0.99),
    /** The mean wait of the quiet caller that waits longest, divided by that of the one that waits least. */
    unfairness: unfairnessOf(quiet),
    /** The most at any time, at one backend and at one edge. */
    connectionsPerBackend: mostAtOnce(attempts.map(({ attempt }) => intervalOf(attempt))),
    requestsPerEdge: mostAtOnce(requests.map((request) => stayOf(request, 1))),
    bytesPerEdge: mostAtOnce(requests.map((request) => stayOf(request, request.planned.bytes))),
    probes,
    asked: requests.reduce((sum, { asked }) => sum + asked, 0),
  };
}

function logNormal(random: Random, { p50, p99, longest }: { p50: number; p99: number; longest: number }): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.min(longest, p50 * (p99 / p50) ** (normal / NORMAL_P99));
}

function isQuiet({ planned }: RequestFacts): boolean {
  return planned.caller !== LOUD_CALLER;
}

/**
 * How much longer its answer took than its upload and its render, from when the edge had its body; null if it was not
 * rendered.
 */
function waitOf({ answers: [answer], forwardedAt, planned }: RequestFacts): number | null {
  if (answer?.isRendered !== true || forwardedAt === null) return null;
  return (answer.at - forwardedAt - planned.forwardMilliseconds - planned.renderMilliseconds) / 1000;
}

function unfairnessOf(requests: readonly RequestFacts[]): number {
  const byCaller = Map.groupBy(requests, ({ planned }) => planned.caller);
  const means = [...byCaller.values()].map((ofCaller) => {
    const waits = ofCaller.flatMap((request) => waitOf(request) ?? []);
    return waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  });
  return Math.max(...means) / Math.min(...means);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/** Something that one place has for a time. */
interface Stay {
  readonly place: number;
  readonly from: number;
  readonly to: number;
  readonly amount: number;
}

function intervalOf({ backend, beganAt, endedAt }: AttemptFacts): Stay {
  return { place: backend, from: beganAt, to: endedAt, amount: 1 };
}

/** Its stay at the edge, from the first byte of the body to the answer. */
function stayOf({ planned, forwardedAt, answers }: RequestFacts, amount: number): Stay {
  const from = (forwardedAt ?? Number.NaN) - planned.uploadMilliseconds;
  return { place: planned.edge, from, to: answers[0]?.at ?? Number.NaN, amount };
}

/** The most that any one place has at any time. */
function mostAtOnce(stays: readonly Stay[]): number {
  const changes = stays
    .filter(({ from, to }) => to > from)
    .flatMap(({ place, from, to, amount }) => [
      { place, at: from, by: amount },
      { place, at: to, by: -amount },
    ])
    .sort((left, right) => left.at - right.at || left.by - right.by);
  const amounts = new Map<number, number>();
  let most = 0;
  for (const { place, by } of changes) {
    const amount = (amounts.get(place) ?? 0) + by;
    amounts.set(place, amount);
    most = Math.max(most, amount);
  }
  return most;
}
