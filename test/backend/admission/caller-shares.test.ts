/** How slots and places in the queue are shared between callers: in the queue by itself, and over HTTP. */
import { describe, expect, it } from "vitest";
import { CallerState, SLOW_RENDER_SECONDS } from "../../../backend/admission/render-queue.ts";
import { RendersInVirtualTime, STOP_SECONDS } from "../../support/backend/renders-in-virtual-time.ts";

const OPTIONS = { slots: 2, maxWaiting: 100, deadlineMilliseconds: 60_000 };
/** As long as a slot is kept for a caller with short renders after its last request. */
const KEEP_SECONDS = 15;
/** As much as two callers' slot times may differ while they take turns. */
const CLEAR_USE_SECONDS = 1;

/** Asks for several renders that run until they are told to end. */
async function ask(renders: RendersInVirtualTime, ...callers: readonly string[]): Promise<void> {
  for (const caller of callers) renders.ask(caller);
  await renders.pass(0);
}

/** One render of a caller, from its request to its end. */
async function renderOnce(renders: RendersInVirtualTime, caller: string, renderSeconds: number): Promise<void> {
  renders.ask(caller, { renderSeconds });
  await renders.pass(0);
  await renders.pass(renderSeconds);
}

/** Renders whose clients leave at once. */
async function stopRenders(renders: RendersInVirtualTime, caller: string, count: number): Promise<void> {
  for (let stopped = 0; stopped < count; stopped++) {
    const left = new AbortController();
    const render = renders.queue.run({ caller, signal: left.signal }, async () => "stopped");
    left.abort();
    await render;
  }
}

const callersOf = (renders: RendersInVirtualTime) => renders.admitted.map(({ caller }) => caller);

describe("slots", () => {
  it("go in turn to callers that hold equally many, and within one caller to its oldest render", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    await ask(renders, "flood", "flood", "flood", "flood", "b", "c", "b");
    const turns = ["flood", "b", "c", "flood", "b", "flood", "flood"];
    for (const caller of turns) await renders.end(caller);
    expect(callersOf(renders)).toEqual(turns);
  });

  it("go to the caller that holds fewer, whosever turn it is", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 4 });
    for (const caller of ["many", "one", "other"]) await renderOnce(renders, caller, 0);
    await ask(renders, "many", "many", "one", "other", "many", "one");
    await renders.end("other");
    expect(callersOf(renders).at(-1)).toBe("one");
  });

  it("go to the oldest render of a caller", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    for (let count = 0; count < 3; count++) {
      await ask(renders, "a");
      await renders.pass(1);
    }
    for (let count = 0; count < 3; count++) await renders.end("a");
    expect(renders.admitted.map(({ askedAt }) => askedAt)).toEqual([0, 1, 2]);
  });

  it("of a full queue are refused to the newest request of the caller with the most of them", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1, maxWaiting: 2 });
    await ask(renders, "flood", "flood", "flood", "other");
    expect(renders.asked.map(({ refusedAt }) => refusedAt !== null)).toEqual([false, false, true, false]);
  });

  it.each([
    ["kept from a caller with long renders", KEEP_SECONDS - 1, 1],
    ["no longer kept", KEEP_SECONDS + 1, 2],
  ])("are %s so long after the last short render of another", async (_what, seconds, running) => {
    const renders = new RendersInVirtualTime(OPTIONS);
    await renderOnce(renders, "long", 10);
    await renderOnce(renders, "short", 1.5);
    await renders.pass(seconds);
    await ask(renders, "long", "long");
    expect(renders.running("long")).toBe(running);
  });

  it.each([
    ["in turn while their slot times differ by less than a second", CLEAR_USE_SECONDS - 0.1, 0, "more"],
    ["to the one that has used clearly less slot time", CLEAR_USE_SECONDS + 0.1, 0, "less"],
    ["in turn again when the use is long ago", 4, 120, "more"],
  ])("go between two callers %s", async (_what, usedSeconds, pauseSeconds, expected) => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    await renderOnce(renders, "more", usedSeconds);
    await renderOnce(renders, "less", 0);
    await renders.pass(pauseSeconds);
    await ask(renders, "holder", "less", "more");
    await renders.end("holder");
    expect(renders.running(expected)).toBe(1);
  });
});

describe("the slot that slow callers leave free", () => {
  const QUICK_SECONDS = 0.1;

  /** A caller whose first render was short, and one whose first render took `slowSeconds`. */
  async function quickAndSlow(
    slowSeconds = 10,
    slots = 2,
    quickSeconds = QUICK_SECONDS,
  ): Promise<RendersInVirtualTime> {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots });
    await renderOnce(renders, "slow", slowSeconds);
    await renderOnce(renders, "quick", quickSeconds);
    return renders;
  }

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
  ])("is one of several: of %i slots they get %i", async (slots, slow) => {
    const renders = await quickAndSlow(10, slots);
    await ask(renders, ...Array.from({ length: 8 }, () => "slow"));
    expect(renders.running("slow")).toBe(slow);
    await ask(renders, "quick");
    expect(renders.running("quick")).toBe(slots - slow);
  });

  it("is the cause even where the slow caller's request has little time, and a quick caller has the slot", async () => {
    const renders = await quickAndSlow();
    await ask(renders, "slow", "quick");
    const ofSlow = renders.ask("slow", { timeBudgetSeconds: 1 });
    const ofQuick = renders.ask("quick", { timeBudgetSeconds: 1 });
    await renders.pass(1);
    expect([ofSlow.refusalCause, ofQuick.refusalCause]).toEqual(["slot_kept_free", "time_budget"]);
  });

  it.each([
    [1, 1],
    [2, 1],
    [4, 3],
    [8, 7],
  ])("has no threads of a render: of %i slots, one that runs alone has %i", async (slots, share) => {
    const renders = await quickAndSlow(10, slots);
    await ask(renders, "slow");
    expect(renders.queue.shareOfSlots()).toBe(share);
  });

  it("is left by all slow callers together", async () => {
    const renders = await quickAndSlow();
    await renderOnce(renders, "other slow", 10);
    await ask(renders, "slow", "other slow");
    expect(renders.queue.running).toBe(1);
  });

  it("is left for as long after a request that stopped waiting", async () => {
    const renders = await quickAndSlow();
    await renders.pass(10);
    await ask(renders, "first", "second");
    const gaveUp = renders.ask("quick", { leavesAfterSeconds: 0 });
    await renders.pass(10);
    expect(gaveUp.hasLeft).toBe(true);
    await renders.end("first");
    await renders.end("second");
    await ask(renders, "slow", "slow");
    expect(renders.running("slow")).toBe(1);
  });

  it.each([
    ["open to a caller whose renders take two seconds", SLOW_RENDER_SECONDS, QUICK_SECONDS, 2],
    ["closed to one whose renders take longer", SLOW_RENDER_SECONDS + 0.5, QUICK_SECONDS, 1],
    ["open to one whose renders take less than twice as long as those of any other", 7.5, 4, 2],
    ["closed to one whose renders take twice as long as those of another", 8, 4, 1],
  ])("is %s", async (_what, slowSeconds, quickSeconds, running) => {
    const renders = await quickAndSlow(slowSeconds, 2, quickSeconds);
    await ask(renders, "slow", "slow");
    expect(renders.running("slow")).toBe(running);
  });

  it("is left by a caller with short renders one of which takes long by now", async () => {
    const renders = await quickAndSlow();
    await ask(renders, "quick");
    await renderOnce(renders, "other quick", 10 * QUICK_SECONDS);
    await renders.pass(10);
    await ask(renders, "quick");
    expect(renders.running("quick")).toBe(1);
  });

  it("is left by a caller whose short renders were only those that its clients stopped", async () => {
    const renders = await quickAndSlow();
    await stopRenders(renders, "slow", 100);
    await ask(renders, "slow", "slow");
    expect(renders.running("slow")).toBe(1);
  });

  describe("is lent", () => {
    const DEADLINE_SECONDS = OPTIONS.deadlineMilliseconds / 1000;

    /** A slow caller's request that has waited until its deadline while another one of it runs. */
    async function lent(otherSlow: readonly string[] = []): Promise<RendersInVirtualTime> {
      const renders = await quickAndSlow();
      for (const caller of otherSlow) await renderOnce(renders, caller, 10);
      await ask(renders, "slow", "slow");
      // A slot is kept only while the quick caller is active.
      for (let passed = 0; passed < DEADLINE_SECONDS; passed += 10) {
        renders.askAt(renders.now + passed, "quick", { renderSeconds: QUICK_SECONDS });
      }
      await renders.pass(DEADLINE_SECONDS - 0.1);
      expect(renders.running("slow")).toBe(1);
      await renders.pass(0.2);
      expect(renders.running("slow")).toBe(2);
      return renders;
    }

    it("until another caller needs it and then gets it at once", async () => {
      const renders = await lent();
      const quick = renders.ask("quick", { renderSeconds: QUICK_SECONDS });
      await renders.pass(STOP_SECONDS);
      expect(quick.admittedAt).toBe(renders.now);
      const [withdrawn] = renders.asked.filter(({ isLent }) => isLent);
      expect(withdrawn).toMatchObject({ refusedAt: renders.now, endedAt: null });
      expect(withdrawn?.retryAfterSeconds).toBeGreaterThan(1);
    });

    it("until a new caller needs it, even if no caller has short renders any more", async () => {
      const renders = await lent();
      await renders.pass(KEEP_SECONDS + 10);
      await ask(renders, "new");
      await renders.pass(STOP_SECONDS);
      expect([renders.running("slow"), renders.running("new")]).toEqual([1, 1]);
    });

    it("even if the same caller or another slow one has more requests", async () => {
      const renders = await lent(["other slow"]);
      await ask(renders, "slow", "other slow");
      await renders.pass(1);
      expect(renders.running("slow")).toBe(2);
    });

    it("beside those that slow callers hold themselves, of which the next one goes to them", async () => {
      const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 3, maxWaiting: 1 });
      await renderOnce(renders, "slow", 10);
      await renderOnce(renders, "quick", QUICK_SECONDS);
      await ask(renders, "slow", "slow", "slow", "slow");
      expect(renders.running("slow")).toBe(3);
      await renders.end("slow");
      expect(renders.running("slow")).toBe(3);
      await renders.end("slow");
      await ask(renders, "quick", "quick");
      await renders.pass(STOP_SECONDS);
      // Not withdrawn for a caller that has a slot.
      expect([renders.running("slow"), renders.running("quick")]).toEqual([2, 1]);
    });

    it("to a request for which the queue has no place", async () => {
      const renders = new RendersInVirtualTime({ ...OPTIONS, maxWaiting: 1 });
      await renderOnce(renders, "slow", 10);
      await renderOnce(renders, "quick", QUICK_SECONDS);
      await ask(renders, "slow", "slow", "slow", "slow");
      expect(renders.asked.slice(2).map(({ isLent, refusedAt }) => [isLent, refusedAt !== null])).toEqual([
        [false, false],
        [false, false],
        [true, false],
        [false, true],
      ]);
    });
  });
});

describe("Retry-After", () => {
  /** What a request is told that has no time budget, while these renders of given lengths hold or want the slots. */
  async function toldTo(caller: string, renders: RendersInVirtualTime): Promise<number | null> {
    const asked = renders.ask(caller, { timeBudgetSeconds: 0.001 });
    await renders.pass(0.01);
    expect(asked.refusedAt).not.toBeNull();
    return asked.retryAfterSeconds;
  }

  it("is how long the renders before it take, by what the caller's renders took, divided by the slots", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 2 });
    await renderOnce(renders, "only", 3);
    for (let count = 0; count < 6; count++) renders.ask("only", { renderSeconds: 3 });
    await renders.pass(0);
    expect(await toldTo("only", renders)).toBe(9);
  });

  it("takes the running mean of all renders that were not stopped for that of a caller without any", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    await renders.pass(50);
    // The mean begins at one second, and the newest render is a fifth of it.
    await renderOnce(renders, "known", 6);
    await stopRenders(renders, "known", 20);
    await ask(renders, "new", "new", "new");
    expect(await toldTo("new", renders)).toBe(6);
  });

  it("is at least a second, even if no render of any caller is before", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    void renders.queue.runIfFree(() => new Promise(() => {}));
    expect(await toldTo("new", renders)).toBe(1);
  });

  it("counts of another caller's requests only those that come before", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    await renderOnce(renders, "flood", 2);
    await renderOnce(renders, "other", 2);
    await ask(renders, ...Array.from({ length: 20 }, () => "flood"));
    expect(await toldTo("flood", renders)).toBe(40);
    expect(await toldTo("other", renders)).toBe(4);
  });

  it("is never more than the queue deadline, after which all that wait now have been served or refused", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1 });
    await renderOnce(renders, "flood", 2);
    await ask(renders, ...Array.from({ length: 100 }, () => "flood"));
    expect(await toldTo("flood", renders)).toBe(60);
  });

  it("counts for a slow caller only slow renders, and not the slot that is left free", async () => {
    const renders = new RendersInVirtualTime(OPTIONS);
    await renderOnce(renders, "slow", 10);
    for (let count = 0; count < 50; count++) await renderOnce(renders, "quick", 0.1);
    await ask(renders, "slow", "slow", "slow", "quick");
    expect(await toldTo("slow", renders)).toBe(30);
  });
});

it("the expected length of a caller's renders rises quickly, falls slowly, and not by what was stopped", () => {
  const state = new CallerState(0);
  state.admit(0, true)(0.1, true);
  expect(state.expectedSeconds(1)).toBe(Number.POSITIVE_INFINITY);
  state.admit(0)(1);
  state.admit(1)(12);
  expect(state.expectedSeconds(12)).toBeCloseTo(3);
  state.admit(12)(13);
  state.admit(13)(13, true);
  expect(state.expectedSeconds(13)).toBeCloseTo(2.9);
  state.admit(13, true)(26.9, true);
  expect(state.expectedSeconds(27)).toBeCloseTo(5.1);
});

describe("what the queue remembers of callers", () => {
  it("is bounded: of more than a thousand, those whose renders were short are as new ones, longest ago first", async () => {
    for (const [others, running] of [
      [999, 2],
      [1000, 1],
    ] as const) {
      const renders = new RendersInVirtualTime(OPTIONS);
      await renderOnce(renders, "quick", 0);
      for (let number = 0; number < others; number++) await renderOnce(renders, `caller-${number}`, 0);
      await ask(renders, "quick", "quick");
      expect(renders.running("quick"), `${others} others`).toBe(running);
    }
  });

  it("is never forgotten of a caller that runs or waits, nor of a newcomer", async () => {
    const renders = new RendersInVirtualTime({ ...OPTIONS, slots: 1, maxWaiting: 2000 });
    const callers = Array.from({ length: 1500 }, (_, number) => `caller-${number}`);
    await ask(renders, ...callers);
    for (const caller of callers) await renders.end(caller);
    expect(callersOf(renders)).toEqual(callers);
    expect([renders.queue.running, renders.queue.waiting]).toEqual([0, 0]);
  });
});
