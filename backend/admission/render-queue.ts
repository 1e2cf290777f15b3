/**
 * Admission to the render slots: a cap, a bounded queue, a deadline, and a fair share for every caller.
 *
 * A free slot goes to the waiting caller that holds the fewest slots; among equals, to one that has recently used
 * clearly less slot time; otherwise in turn. While an active caller has much shorter renders than others, these slow
 * callers leave one slot free. A request that would be refused is lent it, until a caller without a slot needs it.
 */
import type { CapacityCause } from "../../rules/causes.ts";

export interface SteadyClock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** @returns a function that cancels the call. */
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
  readonly deadlineMilliseconds?: number;
}

/** @param withdrawn aborted when a lent slot is withdrawn. @returns null if it has stopped for that */
export type SlotWork<Result> = (withdrawn: AbortSignal | null) => Promise<Result | null>;

export type QueueCause = Extract<CapacityCause, "slots_busy" | "slot_kept_free" | "queue_full" | "time_budget">;

interface Done<Result> {
  readonly kind: "done";
  readonly result: Result;
  readonly waitedSeconds: number;
}

/** No slot before the deadline, no place in the queue, or only a lent slot that was withdrawn. */
interface Full {
  readonly kind: "full";
  readonly cause: QueueCause;
  readonly retryAfterSeconds: number;
  readonly waitedSeconds: number;
}

type Left = Readonly<{ kind: "left" }>;

export type Admission<Result> = Done<Result> | Full | Left;

type EndRender = (endSeconds: number, isStopped?: boolean) => void;

type Entry =
  | {
      readonly kind: "admitted";
      readonly withdrawn: AbortSignal | null;
      readonly endRender: EndRender;
    }
  | Pick<Full, "kind" | "cause">
  | Left;

interface Waiter {
  readonly state: CallerState;
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
/** A render longer than its caller's mean weighs more: a few short ones cannot make up for long ones. */
const LONGER_WEIGHT = 0.2;
const SHORTER_WEIGHT = 0.05;
const USE_HALF_LIFE_SECONDS = 30;
/** Between two requests of clients that ask again at once, fewer renders run for some milliseconds. */
const SHARE_MEMORY_SECONDS = 1;

export class RenderQueue {
  readonly #options: RenderQueueOptions;
  readonly #callers = new Map<string, CallerState>();
  /** Withdraws the slot that was last lent. One is lent at a time, because slow callers leave only one free. */
  #loan: AbortController | null = null;
  #callerRenders = 0;
  #probes = 0;
  /** The most renders that ran at once in one period of `SHARE_MEMORY_SECONDS`, and in the one before it. */
  #most = { period: 0, running: 0, before: 0 };
  #waiting = 0;
  #turns = 0;
  #meanRenderSeconds = 1;

  constructor(options: RenderQueueOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#callerRenders + this.#probes;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * How many slots there are for each render, if as many run at once as within the last second or two. What slow callers
   * leave free belongs to none.
   */
  shareOfSlots(): number {
    this.#noteRunning();
    const { running, before } = this.#most;
    const kept = this.#slowCallers(this.#nowSeconds()).size > 0 ? 1 : 0;
    return Math.max(1, Math.floor((this.#options.slots - kept) / Math.max(1, running, before)));
  }

  async run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    const state = this.#stateOf(applicant.caller);
    const arrived = this.#nowSeconds();
    const entry = await this.#enter(applicant, state);
    const admitted = this.#nowSeconds();
    const waitedSeconds = admitted - arrived;
    if (entry.kind === "left") return { kind: "left" };
    if (entry.kind === "admitted") {
      // Unless it has a result: a render that fails says nothing of how long renders take.
      let isStopped = true;
      try {
        const result = await work(entry.withdrawn);
        isStopped = result === null || applicant.signal.aborted;
        if (result !== null) return { kind: "done", result, waitedSeconds };
      } finally {
        const ended = this.#nowSeconds();
        entry.endRender(ended, isStopped);
        this.#noteRunning();
        this.#callerRenders--;
        if (!isStopped) this.#meanRenderSeconds += NEWEST_WEIGHT * (ended - admitted - this.#meanRenderSeconds);
        this.#admitWaiting();
      }
    }
    // Without a result, its slot was withdrawn: one that was lent, and is kept free for others.
    const cause = entry.kind === "full" ? entry.cause : "slot_kept_free";
    return { kind: "full", cause, retryAfterSeconds: this.#retryAfterSeconds(state), waitedSeconds };
  }

  /** Runs `work` if a slot is free now. It counts for no caller. */
  async runIfFree<Result>(work: () => Promise<Result>): Promise<Done<Result> | Full> {
    if (this.running >= this.#options.slots) {
      return { kind: "full", cause: "slots_busy", retryAfterSeconds: 1, waitedSeconds: 0 };
    }
    this.#probes++;
    try {
      return { kind: "done", result: await work(), waitedSeconds: 0 };
    } finally {
      this.#probes--;
      this.#admitWaiting();
    }
  }

  /**
   * The estimated wait of a caller's next request. Each other caller is served before it at most as often as this one
   * has requests waiting, and a slow caller waits only for slow ones. By the queue deadline, all have been served.
   */
  #retryAfterSeconds(own: CallerState): number {
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

  #isHeldBack(state: CallerState, slow: ReadonlySet<CallerState>): boolean {
    return this.#options.slots > 1 && slow.has(state);
  }

  #enter({ signal, deadlineMilliseconds = Number.POSITIVE_INFINITY }: Applicant, state: CallerState): Promise<Entry> {
    if (signal.aborted) return Promise.resolve({ kind: "left" });
    state.lastSeenSeconds = this.#nowSeconds();
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

  #admitWaiting(): void {
    while (this.running < this.#options.slots) {
      const [waiter] = this.#nextCaller()?.waiting ?? [];
      if (waiter === undefined) return;
      this.#admit(waiter, null);
    }
    if (this.#loan !== null && this.#nextCaller()?.running === 0) this.#loan.abort();
  }

  /** At each beginning and end, and before it is read. */
  #noteRunning(): void {
    const period = Math.floor(this.#nowSeconds() / SHARE_MEMORY_SECONDS);
    const last = this.#most;
    const before = period === last.period ? last.before : period === last.period + 1 ? last.running : 0;
    const running = period === last.period ? Math.max(last.running, this.#callerRenders) : this.#callerRenders;
    this.#most = { period, running, before };
  }

  #admit({ state, settle }: Waiter, loan: AbortController | null): void {
    this.#callerRenders++;
    this.#noteRunning();
    state.latestTurn = ++this.#turns;
    const endRender = state.admit(this.#nowSeconds(), loan !== null);
    settle({ kind: "admitted", withdrawn: loan?.signal ?? null, endRender });
  }

  /** If a slot is free although a request waits, it is the one that is kept for others. */
  #lendOrRefuse(waiter: Waiter, cause: QueueCause): void {
    if (this.running >= this.#options.slots) {
      waiter.settle({ kind: "full", cause });
      return;
    }
    this.#loan = new AbortController();
    this.#admit(waiter, this.#loan);
  }

  #nextCaller(): CallerState | null {
    const time = this.#nowSeconds();
    const slow = this.#slowCallers(time);
    let slowRunning = 0;
    for (const state of slow) slowRunning += state.running - state.lent;
    const isLastKept = this.#options.slots > 1 && slowRunning >= this.#options.slots - 1;
    let next: CallerState | null = null;
    for (const state of this.#callers.values()) {
      if (state.waiting.size === 0) continue;
      // The length of a new caller's renders is unknown, so its first one may use the slot that is kept for short ones.
      const isFirst = state.running === 0 && state.expectedSeconds(time) === Number.POSITIVE_INFINITY;
      if (isLastKept && slow.has(state) && !isFirst) continue;
      if (next === null || comesBefore(state, next, time)) next = state;
    }
    return next;
  }

  #slowCallers(time: number): Set<CallerState> {
    let shortest = Number.POSITIVE_INFINITY;
    for (const state of this.#callers.values()) {
      if (state.wasActiveWithin(KEEP_SLOT_SECONDS, time)) shortest = Math.min(shortest, state.expectedSeconds(time));
    }
    const slow = new Set<CallerState>();
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

  #stateOf(caller: string): CallerState {
    const remembered = this.#callers.get(caller);
    if (remembered !== undefined) return remembered;
    if (this.#callers.size >= MAX_KNOWN_CALLERS) {
      // Forget the idle caller that was first seen longest ago: maps keep the order of insertion.
      const [forgotten] = [...this.#callers].find(([, { isIdle }]) => isIdle) ?? [];
      if (forgotten !== undefined) this.#callers.delete(forgotten);
    }
    const state = new CallerState(this.#nowSeconds());
    this.#callers.set(caller, state);
    return state;
  }
}

/** What is known of one caller: its requests, and how long its renders take. */
export class CallerState {
  readonly waiting = new Set<Waiter>();
  latestTurn = 0;
  /** When each running render was admitted. Objects, so that two renders admitted at the same instant are distinct. */
  readonly #callerRenders = new Set<{ readonly admittedSeconds: number; readonly isLent: boolean }>();
  /** Running mean of the length of its renders; infinite until one has ended. */
  #meanSeconds = Number.POSITIVE_INFINITY;
  #used = { seconds: 0, atSeconds: 0 };
  lastSeenSeconds: number;

  constructor(nowSeconds: number) {
    this.lastSeenSeconds = nowSeconds;
  }

  get running(): number {
    return this.#callerRenders.size;
  }

  get lent(): number {
    return [...this.#callerRenders].filter(({ isLent }) => isLent).length;
  }

  get isIdle(): boolean {
    return this.#callerRenders.size === 0 && this.waiting.size === 0;
  }

  wasActiveWithin(seconds: number, nowSeconds: number): boolean {
    return !this.isIdle || nowSeconds - this.lastSeenSeconds <= seconds;
  }

  /** The mean, or as long as its longest running render takes. @param unknownSeconds until a render has ended */
  expectedSeconds(nowSeconds: number, unknownSeconds = Number.POSITIVE_INFINITY): number {
    return Math.max(
      this.#meanSeconds === Number.POSITIVE_INFINITY ? unknownSeconds : this.#meanSeconds,
      ...[...this.#callerRenders].map(({ admittedSeconds }) => nowSeconds - admittedSeconds),
    );
  }

  usedSeconds(nowSeconds: number): number {
    return this.#used.seconds * 0.5 ** ((nowSeconds - this.#used.atSeconds) / USE_HALF_LIFE_SECONDS);
  }

  /** @returns what counts the end, once. A render that was stopped does not make its caller quicker. */
  admit(nowSeconds: number, isLent = false): EndRender {
    const render = { admittedSeconds: nowSeconds, isLent };
    this.#callerRenders.add(render);
    return (endSeconds, isStopped = false) => {
      this.#callerRenders.delete(render);
      if (!isStopped || endSeconds - nowSeconds > this.#meanSeconds) this.#count(endSeconds - nowSeconds);
      this.#used = { seconds: this.usedSeconds(endSeconds) + endSeconds - nowSeconds, atSeconds: endSeconds };
      this.lastSeenSeconds = endSeconds;
    };
  }

  #count(seconds: number): void {
    if (this.#meanSeconds === Number.POSITIVE_INFINITY) this.#meanSeconds = seconds;
    const weight = seconds > this.#meanSeconds ? LONGER_WEIGHT : SHORTER_WEIGHT;
    this.#meanSeconds += weight * (seconds - this.#meanSeconds);
  }
}

function comesBefore(left: CallerState, right: CallerState, time: number): boolean {
  if (left.running !== right.running) return left.running < right.running;
  const usedMore = left.usedSeconds(time) - right.usedSeconds(time);
  if (Math.abs(usedMore) > CLEAR_USE_SECONDS) return usedMore < 0;
  return left.latestTurn < right.latestTurn;
}
