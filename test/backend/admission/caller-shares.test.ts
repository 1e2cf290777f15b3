/** How slots and places in the queue are shared between callers: in the queue by itself, and over HTTP. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { CallerLoad } from "../../../backend/admission/caller-load.ts";
import { RenderQueue, SLOW_RENDER_SECONDS } from "../../../backend/admission/render-queue.ts";
import { makeFakeTypst, waitFor } from "../../support/fake-typst.ts";
import { expectProblem } from "../../support/problems.ts";
import { startTemporaryBackend } from "../../support/test-backend.ts";

const NEVER = new AbortController().signal;
const OPTIONS = { slots: 2, maxWaiting: 100, deadlineMilliseconds: 60_000 };

/** Renders that run until they are told to end, by the order in which they were admitted. */
class HeldRenders {
  readonly queue: RenderQueue;
  /** The callers in the order in which they got their slots. */
  readonly admitted: string[] = [];
  readonly #ends: { readonly caller: string; readonly end: () => void }[] = [];

  constructor(options = OPTIONS) {
    this.queue = new RenderQueue(options);
  }

  ask(caller: string): ReturnType<RenderQueue["run"]> {
    return this.queue.run({ caller, signal: NEVER }, () => {
      this.admitted.push(caller);
      return new Promise<void>((resolve) => this.#ends.push({ caller, end: resolve }));
    });
  }

  /** Ends the oldest render of a caller, and waits until its slot is given away. */
  async end(caller: string): Promise<void> {
    const index = this.#ends.findIndex((candidate) => candidate.caller === caller);
    if (index < 0) throw new Error(`${caller} runs nothing`);
    this.#ends.splice(index, 1)[0]?.end();
    await settle();
  }

  /** How many slots a caller holds. */
  running(caller: string): number {
    return this.#ends.filter((candidate) => candidate.caller === caller).length;
  }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("slots", () => {
  it("go in turn to callers that hold equally many, and within one caller to its oldest render", async () => {
    const renders = new HeldRenders({ ...OPTIONS, slots: 1 });
    for (const caller of ["flood", "flood", "flood", "flood", "b", "c", "b"]) void renders.ask(caller);
    await settle();
    const turns = ["flood", "b", "c", "flood", "b", "flood", "flood"];
    for (const caller of turns) await renders.end(caller);
    expect(renders.admitted).toEqual(turns);
  });

  it("are never all given to one caller while another waits, once a slot is free", async () => {
    const renders = new HeldRenders({ ...OPTIONS, slots: 3 });
    for (let count = 0; count < 20; count++) void renders.ask("flood");
    void renders.ask("other");
    await settle();
    expect(renders.running("flood")).toBe(3);
    await renders.end("flood");
    expect([renders.running("flood"), renders.running("other")]).toEqual([2, 1]);
    void renders.ask("other");
    await renders.end("other");
    expect([renders.running("flood"), renders.running("other")]).toEqual([2, 1]);
  });

  it("can all be used by one caller while nobody else asks", async () => {
    const renders = new HeldRenders();
    void renders.ask("only");
    void renders.ask("only");
    await settle();
    expect(renders.running("only")).toBe(2);
  });
});

describe("the last slot", () => {
  /** A caller whose first render was short. */
  async function quickCaller(renders: HeldRenders, caller: string): Promise<void> {
    void renders.ask(caller);
    await settle();
    await renders.end(caller);
  }

  it("is kept for short renders: a caller without a known short render does not get it while a quick caller is active", async () => {
    const renders = new HeldRenders();
    await quickCaller(renders, "quick");
    for (let count = 0; count < 5; count++) void renders.ask("new");
    await settle();
    expect(renders.running("new")).toBe(1);
    void renders.ask("quick");
    await settle();
    expect(renders.running("quick")).toBe(1);
  });

  it("is given to any caller whose renders turn out to be short", async () => {
    const renders = new HeldRenders();
    await quickCaller(renders, "quick");
    await quickCaller(renders, "new");
    void renders.ask("new");
    void renders.ask("new");
    await settle();
    expect(renders.running("new")).toBe(2);
  });

  it("is not given to a caller with a render that has run for a long time", async () => {
    const renders = new HeldRenders();
    await quickCaller(renders, "quick");
    await quickCaller(renders, "flood");
    void renders.ask("flood");
    await delay(SLOW_RENDER_SECONDS * 1000 + 200);
    void renders.ask("flood");
    await settle();
    expect(renders.running("flood")).toBe(1);
    await quickCaller(renders, "quick");
  });

  it("is not regained by a few short renders after a long one", () => {
    const load = new CallerLoad<never>(0);
    load.admit(0)(0.1);
    load.admit(0)(10);
    for (let count = 0; count < 20; count++) load.admit(20)(20.1);
    expect(load.expectedSeconds(20)).toBeGreaterThan(0.5);
    for (let count = 0; count < 60; count++) load.admit(20)(20.1);
    expect(load.expectedSeconds(20)).toBeLessThan(0.2);
  });

  it("stays available to callers whose renders take equally long", async () => {
    const renders = new HeldRenders();
    for (const caller of ["a", "b"]) void renders.ask(caller);
    await delay(SLOW_RENDER_SECONDS * 1000 + 500);
    for (const caller of ["a", "b"]) await renders.end(caller);
    for (const caller of ["a", "a"]) void renders.ask(caller);
    await settle();
    expect(renders.running("a")).toBe(2);
  });

  it("is not kept free if it is the only slot", async () => {
    const renders = new HeldRenders({ ...OPTIONS, slots: 1 });
    await quickCaller(renders, "quick");
    void renders.ask("new");
    await settle();
    expect(renders.running("new")).toBe(1);
  });
});

describe("places in the queue", () => {
  it("are taken from the caller with the most for a caller with fewer", async () => {
    const renders = new HeldRenders({ ...OPTIONS, slots: 1, maxWaiting: 3 });
    const flood = [1, 2, 3, 4].map(() => renders.ask("flood"));
    await settle();
    expect(renders.queue.waiting).toBe(3);
    const other = renders.ask("other");
    // The newest of the flood, since the others have waited longer.
    expect(await flood[3]).toMatchObject({ kind: "full" });
    expect(renders.queue.waiting).toBe(3);
    await renders.end("flood");
    await renders.end("other");
    expect(await other).toMatchObject({ kind: "done" });
  });

  it("are not taken from a caller that has no more than the newcomer would", async () => {
    const renders = new HeldRenders({ ...OPTIONS, slots: 1, maxWaiting: 2 });
    void renders.ask("a");
    void renders.ask("a");
    void renders.ask("b");
    await settle();
    expect(await renders.ask("c")).toMatchObject({ kind: "full" });
    expect(renders.queue.waiting).toBe(2);
  });
});

describe("what the queue remembers of callers", () => {
  it("is bounded, however many callers there are", async () => {
    const queue = new RenderQueue(OPTIONS);
    for (let number = 0; number < 3000; number++) {
      await queue.run({ caller: `caller-${number}`, signal: NEVER }, async () => {});
    }
    expect(queue.knownCallers).toBeLessThanOrEqual(1000);
  });
});

describe("a backend with one slot, taken by a caller with many more renders waiting", () => {
  it("serves another caller, as named by the edge, next", async () => {
    const typst = await makeFakeTypst(`tail -n 1 >> "$here/served"; ${waitFor("go")}; printf done`);
    const backend = await startTemporaryBackend({
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_MAX_CONCURRENT_RENDERS: "1",
      SERVICE_MAX_QUEUED_RENDERS: "6",
    });
    const ask = (caller: string, number: number) =>
      backend.render({ source: `${caller} ${number}\n` }, { headers: { "X-Service-Caller": caller } });
    const flood: Promise<Response>[] = [];
    for (let number = 0; number < 7; number++) {
      flood.push(ask("flood", number));
      await expect.poll(() => backend.metric("service_renders_waiting")).toBe(number);
    }
    const other = ask("other", 0);
    await expectProblem(await (flood[6] ?? other), "render_queue_full");
    await typst.signal("go");
    expect((await other).status).toBe(200);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    expect((await typst.read("served"))?.split("\n").slice(0, 2)).toEqual(["flood 0", "other 0"]);
  });

  it("treats an invalid caller name as no name", async () => {
    const backend = await startTemporaryBackend();
    const answer = await backend.render({ source: "x" }, { headers: { "X-Service-Caller": "no name" } });
    expect(answer.status).toBe(200);
  });
});
