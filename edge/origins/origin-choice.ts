/**
 * Which origin gets the next render: the better of two random ones, by what this isolate knows of them. The better of two is
 * nearly as good as the best of all, and does not send everything to the one that was idle a moment ago.
 *
 * An origin that fails is left alone for a while, longer after each failure in a row; then one request at a time tries it.
 * But an origin is never refused when there is no other.
 *
 * No clock and no random numbers of its own: all times are in milliseconds and passed in.
 */
import type { BackendLoad } from "../../rules/http/backend-load.ts";

const FIRST_PAUSE_MILLISECONDS = 1000;
const LONGEST_PAUSE_MILLISECONDS = 30_000;
/** For this long, a backend that is about to stop is left to those that find no other. Its answers renew it. */
const DRAINING_MILLISECONDS = 30_000;
/** What an answer says about the load is of no use after this time. */
const LOAD_LIFETIME_MILLISECONDS = 5000;
/** A failure counts like this many renders in front of the next one, and loses half of its weight in each half-life. */
const FAILURE_WEIGHT = 2;
const FAILURE_HALF_LIFE_MILLISECONDS = 10_000;

/** A request that an origin has and has not answered. */
export interface Attempt {
  readonly origin: number;
  /** After this time it is forgotten: workerd does not resume a request whose client has disconnected. */
  readonly expiresAt: number;
}

/** How an attempt ended; "abandoned" says nothing about the origin, because the client did not wait. */
export type AttemptResult =
  | { readonly kind: "answered"; readonly load: BackendLoad | null }
  | { readonly kind: "failed" | "abandoned" };

interface OriginState {
  readonly attempts: Set<Attempt>;
  load: BackendLoad | null;
  loadAt: number;
  /** Attempts since the load was told. */
  begunSince: number;
  failuresInARow: number;
  failedAt: number;
  leftAloneUntil: number;
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
      leftAloneUntil: Number.NEGATIVE_INFINITY,
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
    if (well.length === 0) return this.#leastBad(allowed, now);
    const first = takeRandom(well, random);
    const second = takeRandom(well, random);
    if (first === undefined || second === undefined) return first ?? null;
    return this.#cost(second, now) < this.#cost(first, now) ? second : first;
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
        // Those that were under way when the origin failed tell nothing new.
        if (now < state.leftAloneUntil) return;
        state.failuresInARow++;
        state.failedAt = now;
        state.leftAloneUntil = now + pauseMilliseconds(state.failuresInARow);
        return;
      case "answered":
        state.failuresInARow = 0;
        state.leftAloneUntil = Number.NEGATIVE_INFINITY;
        if (result.load === null) return;
        state.load = result.load;
        state.loadAt = now;
        state.begunSince = 0;
        state.drainingUntil = result.load.isDraining ? now + DRAINING_MILLISECONDS : Number.NEGATIVE_INFINITY;
    }
  }

  #isWell(index: number, now: number): boolean {
    const state = this.#stateOf(index);
    if (now < state.leftAloneUntil || now < state.drainingUntil) return false;
    return state.failuresInARow === 0 || this.#underWay(state, now) === 0;
  }

  /** A draining origin still renders; of the others, the one that has been left alone longest may be well again. */
  #leastBad(allowed: readonly number[], now: number): number | null {
    let best: number | null = null;
    for (const index of allowed)
      if (best === null || this.#badness(index, now) < this.#badness(best, now)) best = index;
    return best;
  }

  #badness(index: number, now: number): number {
    const { failuresInARow, leftAloneUntil } = this.#stateOf(index);
    return failuresInARow === 0 ? Number.NEGATIVE_INFINITY : Math.max(leftAloneUntil, now);
  }

  /** How many renders per slot are in front of the next one, and more if the origin has failed lately. */
  #cost(index: number, now: number): number {
    const state = this.#stateOf(index);
    const { load, begunSince } = state;
    const isFresh = now - state.loadAt <= LOAD_LIFETIME_MILLISECONDS;
    const told = load !== null && isFresh ? load.running + load.waiting + begunSince : 0;
    const ahead = Math.max(told, this.#underWay(state, now)) / (load?.slots ?? 1);
    return ahead + FAILURE_WEIGHT * 0.5 ** ((now - state.failedAt) / FAILURE_HALF_LIFE_MILLISECONDS);
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
