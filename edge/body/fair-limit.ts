/**
 * A limit on how many things of one kind an isolate does at once. A caller may hold as many as the others leave free:
 * one alone gets half of all, two a third each ("dynamic thresholds", Choudhury and Hahne 1998).
 */
import { type Clock, MONOTONIC_CLOCK } from "../clock.ts";

export class FairLimit {
  readonly #max: number;
  readonly #lifetimeMilliseconds: number;
  readonly #clock: Clock;
  /** In the order in which they expire. */
  readonly #held = new Set<Permit>();
  readonly #countByCaller = new Map<string, number>();

  /** @param lifetimeMilliseconds after this time a permit is released, even if its request never releases it */
  constructor(max: number, lifetimeMilliseconds: number, clock = MONOTONIC_CLOCK) {
    this.#max = max;
    this.#lifetimeMilliseconds = lifetimeMilliseconds;
    this.#clock = clock;
  }

  get held(): number {
    return this.#held.size;
  }

  acquire(caller: string): Permit | null {
    const now = this.#clock.now();
    releaseExpired(this.#held, now);
    const count = this.#countByCaller.get(caller) ?? 0;
    if (count >= this.#max - this.#held.size) return null;
    const expiresAt = now + this.#lifetimeMilliseconds;
    const permit: Permit = { expiresAt, release: () => this.#release(permit, caller) };
    this.#held.add(permit);
    this.#countByCaller.set(caller, count + 1);
    return permit;
  }

  #release(permit: Permit, caller: string): void {
    if (!this.#held.delete(permit)) return;
    const count = (this.#countByCaller.get(caller) ?? 0) - 1;
    if (count > 0) this.#countByCaller.set(caller, count);
    else this.#countByCaller.delete(caller);
  }
}

export interface Permit {
  readonly expiresAt: number;
  /** May be called more than once. */
  readonly release: () => void;
}

/** Some requests never release: workerd does not resume a request whose client has disconnected. */
export function releaseExpired(held: Iterable<Permit>, now: number): void {
  for (const one of held) {
    if (one.expiresAt > now) return;
    one.release();
  }
}
