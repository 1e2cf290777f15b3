/** A schedule: settings, requests and faults, as plain data made from a seed. */
import {
  BACKEND_TIMEOUT_SETTING,
  RENDER_TIME_SETTINGS,
  type RenderTime,
  readRenderTime,
} from "../../rules/render-time.ts";
import { Random } from "./random.ts";

export interface SimulatedSettings extends RenderTime {
  readonly edges: number;
  readonly backends: number;
  /** Backends that are named, and never there. */
  readonly absent: readonly number[];
  /** Backends whose slots and queue are full all the time. */
  readonly full: readonly number[];
  readonly slots: number;
  readonly maxWaiting: number;
  readonly drainDelayMilliseconds: number;
  readonly graceMilliseconds: number;
  readonly largestBodyBytes: number;
  readonly edgeMemoryBytes: number;
  readonly backendMemoryBytes: number;
  /** The longest time that a message takes between edge and backend while the network works. */
  readonly maxLatencyMilliseconds: number;
  /** How late the timers of an edge may fire. */
  readonly maxTimerDelayMilliseconds: number;
}

/** What a request does to the backend that renders it. */
export interface Poison {
  readonly kind: "kill" | "hang";
  readonly afterMilliseconds: number;
}

export interface PlannedRequest {
  readonly id: number;
  readonly at: number;
  readonly edge: number;
  readonly caller: string;
  readonly bytes: number;
  /** How long it takes to send the body, from the client to the edge and from the edge to the backend. */
  readonly uploadMilliseconds: number;
  readonly forwardMilliseconds: number;
  readonly renderMilliseconds: number;
  readonly deliveryMilliseconds: number;
  /** Whether the render ends in a problem, which is an answer like a file. */
  readonly isFaulty: boolean;
  readonly poison: Poison | null;
  /** How every backend refuses it: in its own words, or as Node refuses what it cannot read. Null if none does. */
  readonly refusal: "own" | "foreign" | null;
  /** When the client disconnects; null if it waits. */
  readonly leavesAfterMilliseconds: number | null;
  /** Whether the edge notices. If not, its code is simply never resumed. */
  readonly isLeavingNoticed: boolean;
}

const BACKEND_FAULTS = ["kill", "power loss", "hang", "drain", "sick", "grey", "leave"] as const;
const LINK_FAULTS = ["partition", "refuse", "proxy error", "slow", "reset", "half answers"] as const;

export type BackendFaultKind = (typeof BACKEND_FAULTS)[number];
export type LinkFaultKind = (typeof LINK_FAULTS)[number];

export type PlannedFault = { readonly at: number; readonly milliseconds: number } & (
  | { readonly kind: BackendFaultKind; readonly backend: number }
  | { readonly kind: LinkFaultKind; readonly edge: number; readonly backend: number }
  /** All backends one after another: SIGTERM, the end, a new process, ready. */
  | { readonly kind: "rolling update" }
);

const SCENARIOS = [
  "calm",
  "one killed",
  "one grey",
  "rolling update",
  "recovery",
  "poison",
  "memory pressure",
  "many absent",
  "one idle",
  "chaos",
] as const;

export interface Schedule {
  readonly seed: number;
  readonly scenario: (typeof SCENARIOS)[number];
  readonly settings: SimulatedSettings;
  readonly requests: readonly PlannedRequest[];
  readonly faults: readonly PlannedFault[];
}

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;
const LARGEST_BODY_BYTES = 8 * MEBIBYTE;
/** A host that boots before an edge misses it answers probes, so the edge waits for lost renders until the deadline. */
const MIN_BOOT_MILLISECONDS = 15_000;

type Caller = { readonly name: string; readonly habit: "usual" | "burst" | "long" | "leaving" };

export function makeSchedule(seed: number): Schedule {
  const random = new Random(seed);
  const scenario = random.pick<Schedule["scenario"]>([...SCENARIOS, "chaos", "chaos"]);
  const settings = makeSettings(random, scenario);
  const span = scenario === "recovery" ? random.integer(60_000, 150_000) : random.logarithmic(500, 90_000);
  const draft = { random, scenario, settings, span };
  return { seed, scenario, settings, requests: makeRequests(draft), faults: makeFaults(draft) };
}

interface Draft {
  readonly random: Random;
  readonly scenario: Schedule["scenario"];
  readonly settings: SimulatedSettings;
  /** For how long requests come, in milliseconds. */
  readonly span: number;
}

function makeSettings(random: Random, scenario: Schedule["scenario"]): SimulatedSettings {
  const queueDeadlineSeconds = random.integer(1, 25);
  const renderTimeoutSeconds = random.integer(1, 35);
  const marginSeconds = random.pick([1, 5, 10, 30]);
  // Read as edge and backend read them: what they refuse is not simulated.
  const times = readRenderTime({
    [RENDER_TIME_SETTINGS.queueDeadlineSeconds.setting]: String(queueDeadlineSeconds),
    [RENDER_TIME_SETTINGS.renderTimeoutSeconds.setting]: String(renderTimeoutSeconds),
    [BACKEND_TIMEOUT_SETTING.setting]: String(queueDeadlineSeconds + renderTimeoutSeconds + marginSeconds),
  });
  const isTight = scenario === "memory pressure" || (scenario === "chaos" && random.chance(0.2));
  const largestBodyBytes = LARGEST_BODY_BYTES;
  const isMany = scenario === "many absent" || scenario === "one idle";
  const backends = isMany ? Math.floor(random.logarithmic(2, 101)) : null;
  const other = backends === null ? 0 : random.integer(0, backends - 1);
  const others = Array.from({ length: backends ?? 0 }, (_, index) => index).filter((index) => index !== other);
  const needsTwo = scenario === "one killed" || scenario === "one grey" || scenario === "rolling update";
  return {
    ...times,
    edges: scenario === "recovery" ? 1 : random.integer(1, 3),
    absent: scenario === "many absent" ? others : [],
    full: scenario === "one idle" ? others : [],
    backends: backends ?? (scenario === "recovery" ? 2 : random.integer(needsTwo ? 2 : 1, 4)),
    slots: random.integer(1, scenario === "recovery" ? 2 : 4),
    maxWaiting: random.pick([1, 4, 16, 64]),
    drainDelayMilliseconds: random.pick([0, 0, 2000, 5000]),
    graceMilliseconds:
      scenario === "chaos" && random.chance(0.3)
        ? 1000
        : (queueDeadlineSeconds + renderTimeoutSeconds + marginSeconds) * 1000,
    largestBodyBytes,
    edgeMemoryBytes: isTight ? random.integer(1, 3) * largestBodyBytes : 64 * MEBIBYTE,
    backendMemoryBytes: isTight ? random.integer(1, 3) * largestBodyBytes : 512 * MEBIBYTE,
    maxLatencyMilliseconds: random.logarithmic(1, 40),
    maxTimerDelayMilliseconds: random.pick([0, 0, 5, 20]),
  };
}

function makeRequests(draft: Draft): PlannedRequest[] {
  const { random, scenario, settings, span } = draft;
  const habits = ["usual", "usual", "burst", "long", "leaving"] as const;
  const callers = Array.from({ length: random.integer(1, 4) }, (_, index): Caller => {
    return { name: `caller-${index + 1}`, habit: random.pick(habits) };
  });
  const [firstCaller = { name: "caller-1", habit: "usual" }] = callers;
  const count = scenario === "recovery" ? random.integer(90, 140) : Math.floor(random.logarithmic(1, 60));
  const usualMilliseconds = random.logarithmic(20, settings.renderTimeoutSeconds * 500);
  // With several poison requests it would not be clear which of them brought a backend down.
  const poisonId =
    scenario === "poison" || (scenario === "chaos" && random.chance(0.15)) ? random.integer(1, count) : 0;
  const requests: PlannedRequest[] = [];
  let burstAt = 0;
  for (let id = 1; id <= count; id++) {
    const caller = random.pick([firstCaller, ...callers]);
    if (caller.habit !== "burst" || random.chance(0.1)) burstAt = random.next() * span;
    requests.push(makeRequest(draft, { id, at: burstAt, caller, usualMilliseconds, poisonId }));
  }
  return requests;
}

interface RequestPlan {
  readonly id: number;
  readonly at: number;
  readonly caller: Caller;
  readonly usualMilliseconds: number;
  readonly poisonId: number;
}

function makeRequest({ random, scenario, settings }: Draft, plan: RequestPlan): PlannedRequest {
  const { id, at, caller, usualMilliseconds, poisonId } = plan;
  const timeout = settings.renderTimeoutSeconds * 1000;
  const isHuge = random.chance(scenario === "memory pressure" ? 0.6 : 0.05);
  const bytes = Math.ceil(
    isHuge ? random.logarithmic(MEBIBYTE, settings.largestBodyBytes) : random.logarithmic(200, 256 * KIBIBYTE),
  );
  const isLong = caller.habit === "long" && scenario !== "recovery";
  const longest = random.chance(0.1) ? timeout * 1.2 : timeout * 0.9;
  // To test recovery the load must last, so each render then keeps its slot for a while.
  const usual = scenario === "recovery" ? random.integer(1000, 3000) : usualMilliseconds * random.logarithmic(0.3, 3);
  return {
    id,
    at,
    edge: random.integer(0, settings.edges - 1),
    caller: caller.name,
    bytes,
    uploadMilliseconds: random.logarithmic(1, isHuge ? 5000 : 200),
    // Some links between edge and backend are slow.
    forwardMilliseconds:
      isHuge && random.chance(0.4) ? random.logarithmic(1000, 20_000) : random.logarithmic(1, isHuge ? 300 : 50),
    renderMilliseconds: isLong ? random.logarithmic(timeout / 10, longest) : Math.min(longest, usual),
    deliveryMilliseconds: random.chance(0.1) ? random.logarithmic(100, 5000) : random.logarithmic(1, 50),
    isFaulty: random.chance(0.05),
    poison:
      id === poisonId
        ? { kind: random.chance(0.8) ? "kill" : "hang", afterMilliseconds: random.logarithmic(1, timeout) }
        : null,
    leavesAfterMilliseconds: random.chance(caller.habit === "leaving" ? 0.6 : 0.02)
      ? random.logarithmic(1, timeout * 2)
      : null,
    isLeavingNoticed: random.chance(0.8),
    // It makes every backend suspect, also the only one that could render what others send.
    refusal:
      !["recovery", "one idle", "many absent"].includes(scenario) && random.chance(0.03)
        ? random.pick(["own", "foreign"])
        : null,
  };
}

function makeFaults({ random, scenario, settings, span }: Draft): PlannedFault[] {
  const backend = () => random.integer(0, settings.backends - 1);
  const at = () => random.next() * span;
  switch (scenario) {
    case "one killed":
      return [{ kind: "kill", backend: backend(), at: at(), milliseconds: random.logarithmic(100, 60_000) }];
    case "one grey":
      return [{ kind: "grey", backend: backend(), at: at() / 2, milliseconds: random.logarithmic(10_000, 120_000) }];
    case "rolling update":
      return [{ kind: "rolling update", at: at(), milliseconds: random.logarithmic(100, 10_000) }];
    case "recovery":
      return [
        {
          kind: random.pick(["kill", "sick", "power loss", "hang", "grey"]),
          backend: backend(),
          at: random.next() * 5000,
          milliseconds: random.integer(5000, random.chance(0.3) ? 100_000 : 20_000),
        },
      ];
    case "chaos":
      return Array.from({ length: Math.floor(random.logarithmic(1, 12)) }, () => makeFault(random, settings, at()));
    default:
      return [];
  }
}

function makeFault(random: Random, settings: SimulatedSettings, at: number): PlannedFault {
  const when = { at, milliseconds: random.logarithmic(10, 60_000) };
  const kind = random.pick<PlannedFault["kind"]>([...BACKEND_FAULTS, ...LINK_FAULTS, "rolling update"]);
  if (kind === "rolling update") return { kind, ...when };
  const backend = random.integer(0, settings.backends - 1);
  if (kind === "power loss") return { kind, backend, at, milliseconds: MIN_BOOT_MILLISECONDS + when.milliseconds };
  if (isLinkFault(kind)) return { kind, backend, edge: random.integer(0, settings.edges - 1), ...when };
  return { kind, backend, ...when };
}

const isLinkFault = (kind: string): kind is LinkFaultKind => LINK_FAULTS.some((each) => each === kind);
