/**
 * Chooses the backend that gets the next render: the better of two random ones, according to what this isolate knows
 * about them (docs/decisions/renders-are-repeated.md#two-random-choices). If that was full, the render goes to the best of all.
 *
 * A render that fails may be the cause itself, so it only makes its backend suspect. A probe, which no caller controls,
 * decides whether a backend is out of use (docs/decisions/renders-are-repeated.md#probes-are-renders). Times are in milliseconds.
 */
import type { BackendLoad } from "../../protocol/headers.ts";
import type { Backend } from "../platform/platform.ts";
import type { AttemptResult } from "./backend-answer.ts";

export const PROBE_TIMEOUT_MILLISECONDS = 5000;
/** A backend that has a render and answers nothing at all for this long is probed. */
const SILENCE_MILLISECONDS = 3000;
/** The shortest time between two probes of a backend, however many renders fail there. */
const PROBE_GAP_MILLISECONDS = 250;
/** Another one is sent then: workerd does not resume a request whose client has left, so the result may never come. */
const UNANSWERED_PROBE_GAP_MILLISECONDS = 1000;
/** The pause after a failed probe, doubled for each further one. A new backend must not idle for long. */
const FIRST_PAUSE_MILLISECONDS = 1000;
const LONGEST_PAUSE_MILLISECONDS = 3000;
/** A backend that is about to stop is probed as often, because its successor may have its address. */
const DRAINING_PROBE_GAP_MILLISECONDS = 2000;
/** For this long after its last answer, a backend that is about to stop is chosen only if there is no other. */
const DRAINING_MILLISECONDS = 30_000;
const LOAD_LIFETIME_MILLISECONDS = 5000;
/** For this long, a backend that was full counts as full. Renders end all the time, so it is not for longer. */
const FULL_LIFETIME_MILLISECONDS = 1000;
/** A backend that is back in use is chosen less often at first: its return counts like this many renders ahead. */
const RETURN_WEIGHT = 2;
/** The cost of an unknown load: more than that of any backend with a free slot, less than that of any without. */
const UNKNOWN_COST = 1 - 1e-9;
const RETURN_LIFETIME_MILLISECONDS = 2000;

export interface Attempt {
  readonly backend: Backend;
  readonly beganAt: number;
  /** After this time it is forgotten: workerd does not resume a request whose client has disconnected. */
  expiresAt: number;
}

export interface Probe {
  readonly backend: Backend;
  readonly beganAt: number;
  /** Tells whether the result is about the same backend: it may leave the list and come back before. */
  readonly life: object;
}

/** The order in which backends are chosen. Draining: about to stop. Suspect: a render failed, and no probe since. */
const STANDINGS = ["in use", "draining", "suspect", "out of use"] as const;

type Standing = (typeof STANDINGS)[number];

const NEVER = Number.NEGATIVE_INFINITY;

class BackendState {
  readonly attempts = new Set<Pick<Attempt, "beganAt" | "expiresAt">>();
  load: BackendLoad | null = null;
  loadAt = NEVER;
  begunSince = 0;
  fullAt = NEVER;
  drainingUntil = NEVER;
  trust: Exclude<Standing, "draining">;
  /** When it last answered. */
  answeredAt = NEVER;
  /** When the newest request was sent that it has answered. */
  newestAnsweredSentAt = NEVER;
  /** When the last request was sent whose answer said that no render runs or waits there. */
  idleAt = NEVER;
  probeAt = NEVER;
  failedProbes = 0;
  /** When the last of the failed probes ended. */
  lastProbeFailureAt = NEVER;
  /** When the newest of the failed probes was sent. */
  newestFailedProbeSentAt = NEVER;
  returnedAt = NEVER;

  constructor(trust: BackendState["trust"]) {
    this.trust = trust;
  }
}

export class BackendChoice {
  readonly #states = new Map<Backend, BackendState>();

  constructor(backends: Iterable<Backend>) {
    this.keep(backends);
  }

  /** Keeps these backends and forgets the others. One that comes beside others is probed first: it may not be ready. */
  keep(backends: Iterable<Backend>): void {
    const kept = new Set(backends);
    const trust = this.#states.size === 0 ? "in use" : "suspect";
    for (const backend of this.#states.keys()) if (!kept.has(backend)) this.#states.delete(backend);
    for (const backend of kept) if (!this.#states.has(backend)) this.#states.set(backend, new BackendState(trust));
  }

  /** @param random a number from 0 to below 1, as `Math.random` returns it */
  choose(now: number, excluded: ReadonlySet<Backend>, random: () => number): Backend | null {
    const [first, second] = pickRandom(this.#bestStanding(now, excluded), 2, random);
    const isSecond = first !== undefined && second !== undefined && costOf(second[1], now) < costOf(first[1], now);
    return (isSecond ? second : first)?.[0] ?? null;
  }

  /** The least busy of those with the best standing. One whose load is not known comes after one with a free slot. */
  chooseCheapest(now: number, excluded: ReadonlySet<Backend>, random: () => number): Backend | null {
    const equals = this.#bestStanding(now, excluded);
    // In random order, so that isolates with the same knowledge do not all choose the same one.
    const shuffled = pickRandom(equals, equals.length, random);
    const [cheapest] = shuffled.sort(([, left], [, right]) => rankOf(left, now) - rankOf(right, now));
    return cheapest?.[0] ?? null;
  }

  /** Backends that would hardly answer a render now: they were full a moment ago, or probes fail there. */
  listHopeless(now: number): readonly Backend[] {
    return [...this.#states].flatMap(([backend, state]) =>
      state.trust === "out of use" || wasFull(state, now) ? [backend] : [],
    );
  }

  hasFreeSlot(now: number, excluded: ReadonlySet<Backend>): boolean {
    return this.#withStanding("in use", now, excluded).some(
      ([, state]) => isKnown(state, now) && !wasFull(state, now) && costOf(state, now) < 1,
    );
  }

  pickUnknown(now: number, excluded: ReadonlySet<Backend>, count: number, random: () => number): readonly Backend[] {
    const unknown = this.#withStanding("in use", now, excluded).filter(([, state]) => !isKnown(state, now));
    return pickRandom(unknown, count, random).map(([backend]) => backend);
  }

  recordLoad(backend: Backend, now: number, load: BackendLoad): void {
    const state = this.#states.get(backend);
    if (state === undefined) return;
    setLoad(state, now, load);
    if (hasFreeSlot(load)) state.fullAt = NEVER;
  }

  hasInUse(now: number, excluded: ReadonlySet<Backend>): boolean {
    return this.#withStanding("in use", now, excluded).length > 0;
  }

  isOutOfUse(backend: Backend): boolean {
    return this.#states.get(backend)?.trust === "out of use";
  }

  hasAnswered(backend: Backend): boolean {
    return (this.#states.get(backend)?.answeredAt ?? NEVER) > NEVER;
  }

  /** Whether a backend is out of use, and a probe failed that it got at this time or later. */
  hasFailedSince(backend: Backend, time: number): boolean {
    const state = this.#states.get(backend);
    return state?.trust === "out of use" && state.newestFailedProbeSentAt >= time;
  }

  /** Whether the backend has said, of a time after this one, that no render runs or waits there. */
  wasIdleSince(backend: Backend, time: number): boolean {
    const state = this.#states.get(backend);
    return state !== undefined && state.idleAt > time;
  }

  /**
   * Hands out probes to send now, each once, those that have been due the longest first; `recordProbe` must follow.
   * There are none for a single backend.
   */
  takeDue(now: number, count = Number.POSITIVE_INFINITY, of: Backend | null = null): readonly Probe[] {
    if (this.#states.size < 2 || count <= 0) return [];
    return [...this.#states]
      .filter(([backend, state]) => (of === null || backend === of) && isDue(state, now))
      .sort(([, left], [, right]) => (left.probeAt < right.probeAt ? -1 : Number(left.probeAt > right.probeAt)))
      .slice(0, count)
      .map(([backend, state]) => {
        state.probeAt = now + Math.max(UNANSWERED_PROBE_GAP_MILLISECONDS, pauseMilliseconds(state.failedProbes));
        return { backend, beganAt: now, life: state };
      });
  }

  recordProbe({ backend, beganAt, life }: Probe, now: number, result: AttemptResult): void {
    const state = this.#states.get(backend);
    if (state === undefined || state !== life) return;
    if (showsLife(result)) {
      state.probeAt = Math.min(state.probeAt, beganAt + PROBE_GAP_MILLISECONDS);
      recordAnswer(state, beganAt, now, result);
      return;
    }
    // The backend has answered something meanwhile, so it is busy or has only just come back. The next probe will tell.
    if (state.answeredAt > beganAt) return;
    state.newestFailedProbeSentAt = Math.max(state.newestFailedProbeSentAt, beganAt);
    // Probes that were under way together count once.
    if (beganAt < state.lastProbeFailureAt) return;
    state.trust = "out of use";
    state.failedProbes++;
    state.lastProbeFailureAt = now;
    state.probeAt = now + pauseMilliseconds(state.failedProbes);
  }

  begin(backend: Backend, now: number, expiresAt: number): Attempt {
    const attempt = { backend, beganAt: now, expiresAt };
    const state = this.#states.get(backend);
    if (state === undefined) throw new RangeError("there is no such backend");
    state.attempts.add(attempt);
    state.begunSince++;
    return attempt;
  }

  end(attempt: Attempt, now: number, result: AttemptResult): void {
    const state = this.#states.get(attempt.backend);
    if (state === undefined || !state.attempts.delete(attempt)) return;
    if (showsLife(result)) {
      recordAnswer(state, attempt.beganAt, now, result);
      // Not after a probe, which is refused whenever no slot is free, because it never waits for one.
      if (isFull(result)) state.fullAt = now;
    } else if (state.trust === "in use" && result.kind === "failed" && result.failure !== "refused_request") {
      state.trust = "suspect";
    }
  }

  /** Forgets an attempt whose client has left: it tells nothing of its backend. */
  abandon(attempt: Attempt): void {
    this.#states.get(attempt.backend)?.attempts.delete(attempt);
  }

  countUnderWay(now: number): number {
    let count = 0;
    for (const state of this.#states.values()) count += countUnderWay(state, now);
    return count;
  }

  /** All that have the best standing that there is. */
  #bestStanding(now: number, excluded: ReadonlySet<Backend>): [Backend, BackendState][] {
    for (const standing of STANDINGS) {
      const equals = this.#withStanding(standing, now, excluded);
      if (equals.length > 0) return equals;
    }
    return [];
  }

  #withStanding(standing: Standing, now: number, excluded: ReadonlySet<Backend>): [Backend, BackendState][] {
    return [...this.#states].filter(
      ([backend, state]) => !excluded.has(backend) && standingOf(state, now) === standing,
    );
  }
}

function standingOf({ trust, drainingUntil }: BackendState, now: number): Standing {
  return trust === "in use" && now < drainingUntil ? "draining" : trust;
}

function isDue(state: BackendState, now: number): boolean {
  const { probeAt, trust, newestAnsweredSentAt, attempts, drainingUntil, loadAt } = state;
  if (now < probeAt) return false;
  if (trust !== "in use") return true;
  if (now < drainingUntil && now - loadAt >= DRAINING_PROBE_GAP_MILLISECONDS) return true;
  const silentSince = now - SILENCE_MILLISECONDS;
  return newestAnsweredSentAt <= silentSince && attempts.values().some(({ beganAt }) => beganAt <= silentSince);
}

/** How many renders per slot are ahead of the next one, plus a penalty if the backend has only just come back. */
function costOf(state: BackendState, now: number): number {
  const { load, begunSince } = state;
  const told = load !== null && isKnown(state, now) ? load.running + load.waiting + begunSince : 0;
  const ahead = Math.max(told, countUnderWay(state, now)) / (load?.slots ?? 1);
  const returnAge = (now - state.returnedAt) / RETURN_LIFETIME_MILLISECONDS;
  return ahead + RETURN_WEIGHT * Math.max(0, 1 - returnAge);
}

function rankOf(state: BackendState, now: number): number {
  if (wasFull(state, now)) return Number.MAX_VALUE;
  return isKnown(state, now) ? costOf(state, now) : costOf(state, now) + UNKNOWN_COST;
}

function isKnown({ load, loadAt }: BackendState, now: number): boolean {
  return load !== null && now - loadAt <= LOAD_LIFETIME_MILLISECONDS;
}

function wasFull({ fullAt }: BackendState, now: number): boolean {
  return now - fullAt < FULL_LIFETIME_MILLISECONDS;
}

export function hasFreeSlot({ running, waiting, slots }: BackendLoad): boolean {
  return running + waiting < slots;
}

function countUnderWay({ attempts }: BackendState, now: number): number {
  for (const attempt of attempts) if (attempt.expiresAt <= now) attempts.delete(attempt);
  return attempts.size;
}

/** Whether a result shows that its backend works. A request that it refuses may itself be at fault. */
function showsLife(result: AttemptResult): boolean {
  return result.kind === "answered" || isDraining(result) || result.failure === "full";
}

/** Whether the backend has answered, but not shown that its renders end. */
function isFull(result: AttemptResult): boolean {
  return result.kind === "failed" && result.failure === "full" && !isDraining(result);
}

function isDraining({ load }: AttemptResult): boolean {
  return load?.isDraining === true;
}

function recordAnswer(state: BackendState, beganAt: number, now: number, result: AttemptResult): void {
  const isWorking = !isFull(result);
  state.answeredAt = now;
  if (isWorking) state.fullAt = NEVER;
  // What was begun before a failed probe says nothing about the time after it.
  if (beganAt >= state.newestFailedProbeSentAt) {
    state.newestAnsweredSentAt = Math.max(state.newestAnsweredSentAt, beganAt);
    state.failedProbes = 0;
    if (state.trust === "out of use") state.returnedAt = now;
    if (isWorking) state.trust = "in use";
    else if (state.trust === "out of use") state.trust = "suspect";
  }
  const { load } = result;
  if (load === null) return;
  setLoad(state, now, load);
  if (load.running + load.waiting === 0) state.idleAt = Math.max(state.idleAt, beganAt);
}

function setLoad(state: BackendState, now: number, load: BackendLoad): void {
  state.load = load;
  state.loadAt = now;
  state.begunSince = 0;
  state.drainingUntil = load.isDraining ? now + DRAINING_MILLISECONDS : NEVER;
}

function pauseMilliseconds(failedProbes: number): number {
  return Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * 2 ** (failedProbes - 1));
}

/** At most `count` of them, in random order. */
export function pickRandom<Member>(members: readonly Member[], count: number, random: () => number): Member[] {
  const left = [...members];
  return members.slice(0, count).flatMap(() => left.splice(Math.floor(random() * left.length), 1));
}
