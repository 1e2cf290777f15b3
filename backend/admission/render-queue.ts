/**
 * Admission to the render slots: a cap, a bounded queue, a deadline, and a fair share for every caller.
 *
 * A free slot goes to the waiting caller that holds the fewest slots. Among equals, a caller that has recently used
 * clearly less slot time goes first; otherwise callers take turns. Each caller's requests are served in the order of
 * arrival. So no caller holds all slots while another waits, unless there is only one slot.
 *
 * Turns alone do not help against very long renders: once they hold all slots, a short render waits until one of them
 * ends. So slow callers together leave one slot free. A caller is slow if another active caller has much shorter
 * renders. Slowness is relative, because every render takes long on a busy machine.
 *
 * Nobody is refused while a slot is free: a request that would be refused is lent the slot that is kept free. A lent
 * slot is withdrawn as soon as a caller without a slot needs it, and only then is the request refused.
 */
import type { CapacityCause } from "../../rules/causes.ts";
import { CallerState } from "./caller-state.ts";

export interface SteadyClock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** Calls back after a time. @returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export interface RenderQueueOptions {
  readonly slots: number;
  readonly maxWaiting: number;
  readonly deadlineMilliseconds: number;
  readonly clock: SteadyClock;
}

export interface Applicant {
  readonly caller: string;
  readonly signal: AbortSignal;
  /** The longest that it waits, if that is less than the queue's own deadline. */
  readonly deadlineMilliseconds?: number;
}

/** @param withdrawn aborted when a lent slot is withdrawn. @returns null if it has stopped for that */
export type SlotWork<Result> = (withdrawn: AbortSignal | null) => Promise<Result | null>;

export type QueueCause = Extract<CapacityCause, "slots_busy" | "slot_kept_free" | "queue_full" | "time_budget">;

export type Admission<Result> =
  | { readonly kind: "done"; readonly result: Result; readonly waitedSeconds: number }
  /** No slot before the deadline, no place in the queue, or only a lent slot that was withdrawn. */
  | {
      readonly kind: "full";
      readonly cause: QueueCause;
      readonly retryAfterSeconds: number;
      readonly waitedSeconds: number;
    }
  | { readonly kind: "left" };

type Entry =
  | {
      readonly kind: "admitted";
      readonly withdrawn: AbortSignal | null;
      readonly endRender: ReturnType<CallerState<Waiter>["admit"]>;
    }
  | { readonly kind: "full"; readonly cause: QueueCause }
  | { readonly kind: "left" };

interface Waiter {
  readonly state: CallerState<Waiter>;
  readonly settle: (entry: Entry) => void;
}

/** A caller whose renders are expected to end within this time is never slow. */
export const SLOW_RENDER_SECONDS = 2;
/** The renders of a slow caller take at least this many times as long as those of another. */
const SLOW_FACTOR = 2;
/** For this long after the last request of a caller with short renders, a slot is kept free for it. */
const KEEP_SLOT_SECONDS = 15;
/** Callers take turns if their recent slot times differ by less than this. */
const CLEAR_USE_SECONDS = 1;
/** Above this number, idle callers and the mean lengths of their renders are forgotten. */
const MAX_KNOWN_CALLERS = 1000;
const NEWEST_WEIGHT = 0.2;

export class RenderQueue {
  readonly #options: RenderQueueOptions;
  readonly #callers = new Map<string, CallerState<Waiter>>();
  /** Withdraws the slot that was last lent. One is lent at a time, because slow callers leave only one free. */
  #loan: AbortController | null = null;
  #running = 0;
  #waiting = 0;
  #turns = 0;
  #meanRenderSeconds = 1;

  constructor(options: RenderQueueOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  get knownCallers(): number {
    return this.#callers.size;
  }

  /** Runs `work` once the applicant has a slot. Rethrows what `work` throws, after freeing the slot. */
  async run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    const state = this.#stateOf(applicant.caller);
    const arrived = this.#nowSeconds();
    const entry = await this.#enter(applicant, state);
    const admitted = this.#nowSeconds();
    const waitedSeconds = admitted - arrived;
    if (entry.kind === "left") return { kind: "left" };
    if (entry.kind === "admitted") {
      let isStopped = false;
      try {
        const result = await work(entry.withdrawn);
        isStopped = result === null || applicant.signal.aborted;
        if (result !== null) return { kind: "done", result, waitedSeconds };
      } finally {
        const ended = this.#nowSeconds();
        entry.endRender(ended, isStopped);
        this.#running--;
        if (!isStopped) this.#meanRenderSeconds += NEWEST_WEIGHT * (ended - admitted - this.#meanRenderSeconds);
        this.#admitWaiting();
      }
    }
    // Only a lent slot, which is one that is kept free, is withdrawn.
    const cause = entry.kind === "full" ? entry.cause : "slot_kept_free";
    return { kind: "full", cause, retryAfterSeconds: this.#retryAfterSeconds(state), waitedSeconds };
  }

  /** Runs `work` if a slot is free now. It counts for no caller. */
  async runIfFree<Result>(work: () => Promise<Result>): Promise<Extract<Admission<Result>, { kind: "done" | "full" }>> {
    if (this.#running >= this.#options.slots) {
      return { kind: "full", cause: "slots_busy", retryAfterSeconds: 1, waitedSeconds: 0 };
    }
    this.#running++;
    try {
      return { kind: "done", result: await work(), waitedSeconds: 0 };
    } finally {
      this.#running--;
      this.#admitWaiting();
    }
  }

  /**
   * The estimated wait of a caller's next request. Callers take turns, so each other caller is served before it at most
   * as often as this caller has requests waiting. A slow caller waits only for slow callers, which leave one slot free.
   * Never more than the queue deadline: by then, all that wait have been served or refused.
   */
  #retryAfterSeconds(own: CallerState<Waiter>): number {
    const time = this.#nowSeconds();
    const slow = this.#slowCallers(time);
    const isHeldBack = this.#isHeldBack(own, slow);
    let ahead = 0;
    for (const state of isHeldBack ? slow : this.#callers.values()) {
      const renderSeconds = state.expectedSeconds(time, this.#meanRenderSeconds);
      ahead += renderSeconds * (state.running + Math.min(state.waiting.size, own.waiting.size + 1));
    }
    const seconds = Math.ceil(ahead / (this.#options.slots - (isHeldBack ? 1 : 0)));
    const longest = Math.ceil(this.#options.deadlineMilliseconds / 1000);
    return Math.max(1, Math.min(seconds, longest));
  }

  #isHeldBack(state: CallerState<Waiter>, slow: ReadonlySet<CallerState<Waiter>>): boolean {
    return this.#options.slots > 1 && slow.has(state);
  }

  #enter(
    { signal, deadlineMilliseconds = Number.POSITIVE_INFINITY }: Applicant,
    state: CallerState<Waiter>,
  ): Promise<Entry> {
    if (signal.aborted) return Promise.resolve({ kind: "left" });
    state.markActive(this.#nowSeconds());
    return new Promise((resolve) => {
      const leave = () => waiter.settle({ kind: "left" });
      const deadline = Math.min(this.#options.deadlineMilliseconds, deadlineMilliseconds);
      const isBudget = deadline < this.#options.deadlineMilliseconds;
      const cancelDeadline = this.#options.clock.after(deadline, () => {
        const isHeldBack = this.#isHeldBack(state, this.#slowCallers(this.#nowSeconds()));
        this.#lendOrRefuse(waiter, isHeldBack ? "slot_kept_free" : isBudget ? "time_budget" : "slots_busy");
      });
      const waiter: Waiter = {
        state,
        settle: (entry) => {
          cancelDeadline();
          signal.removeEventListener("abort", leave);
          state.waiting.delete(waiter);
          this.#waiting--;
          resolve(entry);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      state.waiting.add(waiter);
      this.#waiting++;
      this.#admitWaiting();
      if (this.#waiting > this.#options.maxWaiting) this.#lendOrRefuse(this.#leastEntitled(waiter), "queue_full");
    });
  }

  /** Fills the free slots. If there is none for a caller that holds none, a lent one is withdrawn. */
  #admitWaiting(): void {
    while (this.#running < this.#options.slots) {
      const [waiter] = this.#nextCaller()?.waiting ?? [];
      if (waiter === undefined) return;
      this.#admit(waiter, null);
    }
    if (this.#loan !== null && this.#nextCaller()?.running === 0) this.#loan.abort();
  }

  /** A slot counts as taken from here on, so that no other request gets it before the work begins. */
  #admit({ state, settle }: Waiter, loan: AbortController | null): void {
    this.#running++;
    state.latestTurn = ++this.#turns;
    const endRender = state.admit(this.#nowSeconds(), loan !== null);
    settle({ kind: "admitted", withdrawn: loan?.signal ?? null, endRender });
  }

  /** While a request waits, a free slot is one that is kept for others. */
  #lendOrRefuse(waiter: Waiter, cause: QueueCause): void {
    if (this.#running >= this.#options.slots) {
      waiter.settle({ kind: "full", cause });
      return;
    }
    this.#loan = new AbortController();
    this.#admit(waiter, this.#loan);
  }

  /** The caller that gets the next slot: the first, by `comesBefore`, of those that may have one. */
  #nextCaller(): CallerState<Waiter> | null {
    const time = this.#nowSeconds();
    const slow = this.#slowCallers(time);
    let slowRunning = 0;
    for (const state of slow) slowRunning += state.running - state.lent;
    const isLastKept = this.#options.slots > 1 && slowRunning >= this.#options.slots - 1;
    let next: CallerState<Waiter> | null = null;
    for (const state of this.#callers.values()) {
      if (state.waiting.size === 0) continue;
      // The length of a new caller's renders is unknown, so its first one may use the slot that is kept for short ones.
      const isFirst = state.running === 0 && state.expectedSeconds(time) === Number.POSITIVE_INFINITY;
      if (isLastKept && slow.has(state) && !isFirst) continue;
      if (next === null || comesBefore(state, next, time)) next = state;
    }
    return next;
  }

  /** The callers with long renders, while another active caller has much shorter ones. */
  #slowCallers(time: number): Set<CallerState<Waiter>> {
    let quickest: CallerState<Waiter> | null = null;
    for (const state of this.#callers.values()) {
      if (!state.wasActiveWithin(KEEP_SLOT_SECONDS, time)) continue;
      if (quickest === null || state.expectedSeconds(time) < quickest.expectedSeconds(time)) quickest = state;
    }
    const slow = new Set<CallerState<Waiter>>();
    const shortest = quickest?.expectedSeconds(time) ?? Number.POSITIVE_INFINITY;
    // No active caller has finished a render, so there is nothing to compare with.
    if (shortest === Number.POSITIVE_INFINITY) return slow;
    for (const state of this.#callers.values()) {
      const expected = state.expectedSeconds(time);
      if (expected > SLOW_RENDER_SECONDS && expected >= SLOW_FACTOR * shortest) slow.add(state);
    }
    return slow;
  }

  /** The newest request of the caller with the most waiting requests; among equals, that of the newcomer. */
  #leastEntitled(newcomer: Waiter): Waiter {
    let longest = newcomer.state;
    for (const state of this.#callers.values()) if (state.waiting.size > longest.waiting.size) longest = state;
    return [...longest.waiting].at(-1) ?? newcomer;
  }

  #nowSeconds(): number {
    return this.#options.clock.now() / 1000;
  }

  #stateOf(caller: string): CallerState<Waiter> {
    const remembered = this.#callers.get(caller);
    if (remembered !== undefined) return remembered;
    const state = new CallerState<Waiter>(this.#nowSeconds());
    this.#callers.set(caller, state);
    if (this.#callers.size > MAX_KNOWN_CALLERS) this.#forgetIdle(caller);
    return state;
  }

  /** Forgets the idle caller that was first seen longest ago. */
  #forgetIdle(newcomer: string): void {
    for (const [caller, state] of this.#callers) {
      if (!state.isIdle || caller === newcomer) continue;
      this.#callers.delete(caller);
      return;
    }
  }
}

function comesBefore(left: CallerState<Waiter>, right: CallerState<Waiter>, time: number): boolean {
  if (left.running !== right.running) return left.running < right.running;
  const usedMore = left.usedSeconds(time) - right.usedSeconds(time);
  if (Math.abs(usedMore) > CLEAR_USE_SECONDS) return usedMore < 0;
  return left.latestTurn < right.latestTurn;
}
