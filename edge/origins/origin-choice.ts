/**
 * Chooses the origin that gets the next render: the better of two random ones, according to what this isolate knows about them
 * (docs/decisions/two-random-choices.md).
 *
 * An origin that fails gets no renders until a probe finds it ready again. Each failure in a row makes the pause before the probe
 * longer. If all origins have failed, they get renders all the same.
 *
 * Clock and random numbers are passed in. All times are in milliseconds.
 */
import type { BackendLoad } from "../../rules/http/backend-load.ts";

const FIRST_PAUSE_MILLISECONDS = 1000;
const LONGEST_PAUSE_MILLISECONDS = 30_000;
/** For this long after its last answer, a backend that is about to stop is chosen only if there is no other. */
const DRAINING_MILLISECONDS = 30_000;
/** After this time, the load that an answer reported is out of date. */
const LOAD_LIFETIME_MILLISECONDS = 5000;
/** An origin that is ready again is chosen less often at first: its failure counts like this many renders ahead. */
const FAILURE_WEIGHT = 2;
/** In this time the weight of a failure falls to 0. */
const FAILURE_LIFETIME_MILLISECONDS = 5000;

/** A request that an origin has not answered yet. */
export interface Attempt {
  readonly origin: number;
  /** After this time it is forgotten: workerd does not resume a request whose client has disconnected. */
  readonly expiresAt: number;
}

/** How an attempt ended. "abandoned" says nothing about the origin: the client left, or too little time was left. */
export type AttemptResult =
  | { readonly kind: "answered"; readonly load: BackendLoad | null }
  | { readonly kind: "failed" | "abandoned" };

interface OriginState {
  readonly attempts: Set<Attempt>;
  load: BackendLoad | null;
  loadAt: number;
  /** Attempts since the load was reported. */
  begunSince: number;
  /** Renders that failed since the last one that was answered. */
  failuresInARow: number;
  failedAt: number;
  isLeftAlone: boolean;
  /** When an origin that is left alone is to be probed. */
  probeAt: number;
  drainingUntil: number;
}

export class OriginChoice {
  readonly #origins: readonly OriginState[];

  constructor(count: number) {
    this.#origins = Array.from({ length: count }, () => ({
      attempts: new Set<Attempt>(),
      load: null,
      loadAt: Number.NEGATIVE_INFINITY,
      begunSince: 0,
      failuresInARow: 0,
      failedAt: Number.NEGATIVE_INFINITY,
      isLeftAlone: false,
      probeAt: Number.POSITIVE_INFINITY,
      drainingUntil: Number.NEGATIVE_INFINITY,
    }));
  }

  /**
   * @param excluded origins that must not be chosen
   * @param random a number from 0 to below 1, as `Math.random` returns it
   * @returns the index of an origin; null if all are excluded.
   */
  choose(now: number, excluded: ReadonlySet<number>, random: () => number): number | null {
    const allowed = [...this.#origins.keys()].filter((index) => !excluded.has(index));
    const well = allowed.filter((index) => this.#isWell(index, now));
    if (well.length === 0) return this.#leastBad(allowed);
    const first = takeRandom(well, random);
    const second = takeRandom(well, random);
    if (first === undefined || second === undefined) return first ?? null;
    return this.#cost(second, now) < this.#cost(first, now) ? second : first;
  }

  /**
   * An origin that must be probed now. It is returned once, and `probed` must follow.
   *
   * @param timeoutMilliseconds after this time it is returned again, even if `probed` has not been called.
   */
  takeDue(now: number, timeoutMilliseconds: number): number | null {
    for (const [index, state] of this.#origins.entries()) {
      if (!state.isLeftAlone || now < state.probeAt) continue;
      state.probeAt = now + timeoutMilliseconds;
      return index;
    }
    return null;
  }

  /** Records the result of a probe. */
  probed(index: number, now: number, isReady: boolean): void {
    const state = this.#stateOf(index);
    if (isReady) state.isLeftAlone = false;
    else state.probeAt = now + pauseMilliseconds(state.failuresInARow);
  }

  begin(origin: number, expiresAt: number): Attempt {
    const attempt = { origin, expiresAt };
    const state = this.#stateOf(origin);
    state.attempts.add(attempt);
    state.begunSince++;
    return attempt;
  }

  /** Counts the end of an attempt. Further calls for the same attempt do nothing. */
  end(attempt: Attempt, now: number, result: AttemptResult): void {
    const state = this.#stateOf(attempt.origin);
    if (!state.attempts.delete(attempt)) return;
    switch (result.kind) {
      case "abandoned":
        return;
      case "failed":
        state.failedAt = now;
        // Attempts that were under way when the origin failed say nothing new.
        if (state.isLeftAlone) return;
        state.failuresInARow++;
        state.isLeftAlone = true;
        state.probeAt = now + pauseMilliseconds(state.failuresInARow);
        return;
      case "answered":
        state.failuresInARow = 0;
        state.isLeftAlone = false;
        if (result.load === null) return;
        state.load = result.load;
        state.loadAt = now;
        state.begunSince = 0;
        state.drainingUntil = result.load.isDraining ? now + DRAINING_MILLISECONDS : Number.NEGATIVE_INFINITY;
    }
  }

  /** The number of attempts that have neither ended nor expired. */
  underWay(now: number): number {
    let count = 0;
    for (const state of this.#origins) count += this.#underWay(state, now);
    return count;
  }

  #isWell(index: number, now: number): boolean {
    const { isLeftAlone, drainingUntil } = this.#stateOf(index);
    return !isLeftAlone && now >= drainingUntil;
  }

  /** A draining origin, which still renders; else the one that failed longest ago, which is the likeliest to have recovered. */
  #leastBad(allowed: readonly number[]): number | null {
    let best: number | null = null;
    for (const index of allowed) if (best === null || this.#badness(index) < this.#badness(best)) best = index;
    return best;
  }

  #badness(index: number): number {
    const { isLeftAlone, failedAt } = this.#stateOf(index);
    return isLeftAlone ? failedAt : Number.NEGATIVE_INFINITY;
  }

  /** How many renders per slot are ahead of the next one, plus a penalty if the origin has failed recently. */
  #cost(index: number, now: number): number {
    const state = this.#stateOf(index);
    const { load, begunSince } = state;
    const isFresh = now - state.loadAt <= LOAD_LIFETIME_MILLISECONDS;
    const told = load !== null && isFresh ? load.running + load.waiting + begunSince : 0;
    const ahead = Math.max(told, this.#underWay(state, now)) / (load?.slots ?? 1);
    const failureAge = (now - state.failedAt) / FAILURE_LIFETIME_MILLISECONDS;
    return ahead + FAILURE_WEIGHT * Math.max(0, 1 - failureAge);
  }

  #underWay({ attempts }: OriginState, now: number): number {
    for (const attempt of attempts) if (attempt.expiresAt <= now) attempts.delete(attempt);
    return attempts.size;
  }

  #stateOf(index: number): OriginState {
    const state = this.#origins[index];
    if (state === undefined) throw new RangeError(`there is no origin ${index}`);
    return state;
  }
}

function pauseMilliseconds(failuresInARow: number): number {
  return Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * 2 ** (failuresInARow - 1));
}

/** Removes a random member. */
function takeRandom(members: number[], random: () => number): number | undefined {
  return members.splice(Math.floor(random() * members.length), 1)[0];
}
