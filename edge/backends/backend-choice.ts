/**
 * Chooses the backend that gets the next render: the better of two random ones, according to what this isolate knows about them
 * (docs/decisions/two-random-choices.md).
 *
 * A render that fails may be the cause itself, so it only makes its backend suspect. A probe, which no caller controls, decides
 * whether the backend goes out of use and when it comes back (docs/decisions/probes-are-renders.md). If no backend is in use,
 * renders go to the others all the same.
 *
 * Clock and random numbers are passed in. All times are in milliseconds.
 */
import type { BackendLoad } from "../../protocol/backend-load.ts";

/** A probe without an answer has failed after this time. */
export const PROBE_TIMEOUT_MILLISECONDS = 5000;
/** A backend that has a render and answers nothing at all for this long is probed. */
const SILENCE_MILLISECONDS = 3000;
/** The shortest time between two probes of a backend, however many renders fail there. */
const PROBE_GAP_MILLISECONDS = 250;
/**
 * Another one is sent if a probe has had no result for this long. Its result may never come: workerd does not resume a request whose
 * client has disconnected.
 */
const UNANSWERED_PROBE_GAP_MILLISECONDS = 1000;
/** The pause after a probe that has failed. Each further one doubles it. */
const FIRST_PAUSE_MILLISECONDS = 1000;
const LONGEST_PAUSE_MILLISECONDS = 30_000;
/** For this long after its last answer, a backend that is about to stop is chosen only if there is no other. */
const DRAINING_MILLISECONDS = 30_000;
/** After this time, the load that an answer reported is out of date. */
const LOAD_LIFETIME_MILLISECONDS = 5000;
/** A backend that is back in use is chosen less often at first: its return counts like this many renders ahead. */
const RETURN_WEIGHT = 2;
/** In this time the weight of a return falls to 0. */
const RETURN_LIFETIME_MILLISECONDS = 5000;

/** A request that a backend has not answered yet. */
export interface Attempt {
  readonly backend: number;
  readonly beganAt: number;
  /** After this time it is forgotten: workerd does not resume a request whose client has disconnected. */
  readonly expiresAt: number;
}

/**
 * What an attempt or a probe tells about its backend. "full": it lives, but whether its renders end is not known. "abandoned" tells
 * nothing: the client left, or the backend refused the request itself.
 */
export type AttemptResult =
  | { readonly kind: "answered" | "full"; readonly load: BackendLoad | null }
  | { readonly kind: "failed" | "abandoned" };

/** A probe that has been handed out. */
export interface Probe {
  readonly backend: number;
  readonly beganAt: number;
}

/** The order in which backends are chosen: draining ones say that they are about to stop, suspect ones wait for a probe. */
const STANDINGS = ["in use", "draining", "suspect", "out of use"] as const;

type Standing = (typeof STANDINGS)[number];

interface BackendState {
  readonly attempts: Set<Attempt>;
  load: BackendLoad | null;
  loadAt: number;
  /** Attempts since the load was reported. */
  begunSince: number;
  drainingUntil: number;
  trust: Exclude<Standing, "draining">;
  /** When it last answered, and when it had got the newest request that it has answered. */
  answeredAt: number;
  provenAt: number;
  /** When it got the last request whose answer said that no render runs or waits there. */
  idleAt: number;
  /** No probe is sent before this time. */
  probeAt: number;
  /** Failed probes in a row. */
  failedProbes: number;
  /** When the last of them ended, and when the backend got the newest of them. */
  failedAt: number;
  lostAt: number;
  /** When it last came back into use. */
  returnedAt: number;
}

export class BackendChoice {
  readonly #backends: readonly BackendState[];

  constructor(count: number) {
    this.#backends = Array.from({ length: count }, () => ({
      attempts: new Set<Attempt>(),
      load: null,
      loadAt: Number.NEGATIVE_INFINITY,
      begunSince: 0,
      drainingUntil: Number.NEGATIVE_INFINITY,
      trust: "in use",
      answeredAt: Number.NEGATIVE_INFINITY,
      provenAt: Number.NEGATIVE_INFINITY,
      idleAt: Number.NEGATIVE_INFINITY,
      probeAt: Number.NEGATIVE_INFINITY,
      failedProbes: 0,
      failedAt: Number.NEGATIVE_INFINITY,
      lostAt: Number.NEGATIVE_INFINITY,
      returnedAt: Number.NEGATIVE_INFINITY,
    }));
  }

  /**
   * @param excluded backends that must not be chosen
   * @param random a number from 0 to below 1, as `Math.random` returns it
   * @returns the index of a backend; null if all are excluded.
   */
  choose(now: number, excluded: ReadonlySet<number>, random: () => number): number | null {
    for (const standing of STANDINGS) {
      const equals = this.#withStanding(standing, now, excluded);
      const first = takeRandom(equals, random);
      const second = takeRandom(equals, random);
      if (first === undefined) continue;
      return second !== undefined && this.#cost(second, now) < this.#cost(first, now) ? second : first;
    }
    return null;
  }

  /** Whether one that is not excluded is in use, and not about to stop. */
  hasInUse(now: number, excluded: ReadonlySet<number>): boolean {
    return this.#withStanding("in use", now, excluded).length > 0;
  }

  isOutOfUse(backend: number): boolean {
    return this.#stateOf(backend).trust === "out of use";
  }

  /** Whether a backend is out of use, and a probe failed that it got at this time or later. */
  hasFailedSince(backend: number, time: number): boolean {
    return this.isOutOfUse(backend) && this.#stateOf(backend).lostAt >= time;
  }

  /** Whether the backend has said, of a time after this one, that no render runs or waits there. */
  wasIdleSince(backend: number, time: number): boolean {
    return this.#stateOf(backend).idleAt > time;
  }

  /**
   * Hands out the probes that are to be sent now, each once; `probed` must follow. With one backend there is nothing to choose, and so
   * none.
   */
  takeDue(now: number): readonly Probe[] {
    if (this.#backends.length < 2) return [];
    const due: Probe[] = [];
    for (const [backend, state] of this.#backends.entries()) {
      if (!this.#isDue(state, now)) continue;
      state.probeAt = now + UNANSWERED_PROBE_GAP_MILLISECONDS;
      due.push({ backend, beganAt: now });
    }
    return due;
  }

  /** Records the result of a probe. */
  probed({ backend, beganAt }: Probe, now: number, result: AttemptResult): void {
    const state = this.#stateOf(backend);
    switch (result.kind) {
      case "answered":
      case "full":
        state.probeAt = Math.min(state.probeAt, beganAt + PROBE_GAP_MILLISECONDS);
        answered(state, beganAt, now, result);
        return;
      case "failed":
        // It has answered something meanwhile, so it is busy or has only just come back. The next probe will tell.
        if (state.answeredAt > beganAt) return;
        state.lostAt = Math.max(state.lostAt, beganAt);
        // Probes that were under way together count once.
        if (beganAt < state.failedAt) return;
        state.trust = "out of use";
        state.failedProbes++;
        state.failedAt = now;
        state.probeAt = now + pauseMilliseconds(state.failedProbes);
        return;
      case "abandoned":
        return;
    }
  }

  begin(backend: number, now: number, expiresAt: number): Attempt {
    const attempt = { backend, beganAt: now, expiresAt };
    const state = this.#stateOf(backend);
    state.attempts.add(attempt);
    state.begunSince++;
    return attempt;
  }

  /** Counts the end of an attempt. Further calls for the same attempt do nothing. */
  end(attempt: Attempt, now: number, result: AttemptResult): void {
    const state = this.#stateOf(attempt.backend);
    if (!state.attempts.delete(attempt)) return;
    switch (result.kind) {
      case "answered":
      case "full":
        answered(state, attempt.beganAt, now, result);
        return;
      case "failed":
        if (state.trust === "in use") state.trust = "suspect";
        return;
      case "abandoned":
        return;
    }
  }

  /** The number of attempts that have neither ended nor expired. */
  underWay(now: number): number {
    let count = 0;
    for (const state of this.#backends) count += this.#underWay(state, now);
    return count;
  }

  #withStanding(standing: Standing, now: number, excluded: ReadonlySet<number>): number[] {
    const indexes = [...this.#backends.keys()];
    return indexes.filter((index) => !excluded.has(index) && this.#standing(index, now) === standing);
  }

  #standing(index: number, now: number): Standing {
    const { trust, drainingUntil } = this.#stateOf(index);
    return trust === "in use" && now < drainingUntil ? "draining" : trust;
  }

  #isDue(state: BackendState, now: number): boolean {
    const { probeAt, trust, provenAt, attempts } = state;
    if (now < probeAt) return false;
    if (trust !== "in use") return true;
    const silentSince = now - SILENCE_MILLISECONDS;
    return provenAt <= silentSince && attempts.values().some(({ beganAt }) => beganAt <= silentSince);
  }

  /** How many renders per slot are ahead of the next one, plus a penalty if the backend has only just come back. */
  #cost(index: number, now: number): number {
    const state = this.#stateOf(index);
    const { load, begunSince } = state;
    const isFresh = now - state.loadAt <= LOAD_LIFETIME_MILLISECONDS;
    const told = load !== null && isFresh ? load.running + load.waiting + begunSince : 0;
    const ahead = Math.max(told, this.#underWay(state, now)) / (load?.slots ?? 1);
    const returnAge = (now - state.returnedAt) / RETURN_LIFETIME_MILLISECONDS;
    return ahead + RETURN_WEIGHT * Math.max(0, 1 - returnAge);
  }

  #underWay({ attempts }: BackendState, now: number): number {
    for (const attempt of attempts) if (attempt.expiresAt <= now) attempts.delete(attempt);
    return attempts.size;
  }

  #stateOf(index: number): BackendState {
    const state = this.#backends[index];
    if (state === undefined) throw new RangeError(`there is no backend ${index}`);
    return state;
  }
}

function answered(
  state: BackendState,
  beganAt: number,
  now: number,
  { kind, load }: Extract<AttemptResult, { kind: "answered" | "full" }>,
): void {
  state.answeredAt = now;
  // What was begun before a failed probe says nothing about the time after it.
  if (beganAt >= state.lostAt) {
    state.provenAt = Math.max(state.provenAt, beganAt);
    state.failedProbes = 0;
    if (state.trust === "out of use") state.returnedAt = now;
    if (kind === "answered") state.trust = "in use";
    else if (state.trust === "out of use") state.trust = "suspect";
  }
  if (load === null) return;
  state.load = load;
  state.loadAt = now;
  state.begunSince = 0;
  if (load.running + load.waiting === 0) state.idleAt = Math.max(state.idleAt, beganAt);
  state.drainingUntil = load.isDraining ? now + DRAINING_MILLISECONDS : Number.NEGATIVE_INFINITY;
}

function pauseMilliseconds(failedProbes: number): number {
  return Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * 2 ** (failedProbes - 1));
}

/** Removes a random member. */
function takeRandom(members: number[], random: () => number): number | undefined {
  return members.splice(Math.floor(random() * members.length), 1)[0];
}
