/** The attempts of one render on backends that a test scripts, without any network. */
import { describe, expect, it, vi } from "vitest";
import { type FailedAttempt, failedAttempt, type ResponseHead } from "../../../edge/backends/backend-answer.ts";
import { type Attempt, BackendChoice } from "../../../edge/backends/backend-choice.ts";
import { type RenderAnswer, RenderAttempts } from "../../../edge/backends/render-attempts.ts";
import { SideRequests } from "../../../edge/backends/side-requests.ts";
import { probeDueBackends, type Sending, tryBackends } from "../../../edge/backends/try-backends.ts";
import { BodyMemory } from "../../../edge/body/body-memory.ts";
import type { Backend } from "../../../edge/platform/platform.ts";
import { BodyCollector } from "../../../protocol/body-collector.ts";
import { PROBLEMS, type ProblemCode } from "../../../rules/problem.ts";
import { headOf } from "../answer-head.ts";
import { StillClock } from "../still-clock.ts";
import { stubBackends } from "../stub-backends.ts";

interface Answer extends ResponseHead {
  readonly content: string;
}

type Script = (sending: Sending, clock: StillClock) => Promise<Answer>;

const TIME_BUDGET_MILLISECONDS = 60_000;

const reply = (content: Parameters<typeof headOf>[0], fields?: Record<string, string>) => ({
  ...headOf(content, fields),
  content,
});
const file: Script = async ({ reportTaken }) => {
  reportTaken("all");
  return reply("file");
};
const problem =
  (code: ProblemCode, fields: Record<string, string> = {}): Script =>
  async () =>
    reply(code, fields);
const FROM_FILE = { kind: "answered", answer: { content: "file" } };

/** What a test does not say of how a render is sent: its client stays, and nobody answers a probe or says how busy it is. */
const UNSAID = {
  whenClientLeaves: () => () => {},
  sendProbe: () => Promise.reject(new Error("no answer")),
  inBackground: () => {},
  askLoad: async () => null,
  longestAnswerMilliseconds: TIME_BUDGET_MILLISECONDS,
  discard: () => {},
  report: () => {},
};

interface Outcome {
  readonly end: RenderAnswer<Answer>;
  /** What became of the body, and which backends were asked, in order. */
  readonly events: readonly string[];
  /** The places of the backends that were probed. None answers. */
  readonly probed: readonly number[];
  /** The places of those of which the operator is told. */
  readonly reported: readonly number[];
  readonly begun: readonly Attempt[];
  readonly clock: StillClock;
}

/** Asks the backends from the first to the last. */
async function forward(
  scripts: readonly Script[],
  isTaken = false,
  timeBudgetMilliseconds = TIME_BUDGET_MILLISECONDS,
  longestAnswerMilliseconds = TIME_BUDGET_MILLISECONDS,
  clientSignal = new AbortController().signal,
): Promise<Outcome> {
  const events: string[] = [];
  const probed: number[] = [];
  const reported: number[] = [];
  const backends = stubBackends(...scripts.keys());
  const choice = new BackendChoice(backends);
  const begin = vi.spyOn(choice, "begin");
  const clock = new StillClock();
  const body = {
    bytes: new Uint8Array(1) as Uint8Array<ArrayBuffer> | null,
    withdraw: () => void events.push("withdraw"),
    offer: () => {
      events.push("offer");
      if (isTaken) body.bytes = null;
    },
  };
  let isOver = false;
  const ending = tryBackends<Answer>({
    ...UNSAID,
    choice,
    // Of two backends that are equally good the first by place is taken.
    attempts: new RenderAttempts(choice, timeBudgetMilliseconds, 1, () => 0),
    clock,
    body,
    whenClientLeaves: (leave) => {
      clientSignal.addEventListener("abort", leave);
      return () => clientSignal.removeEventListener("abort", leave);
    },
    send: async (backend, sending) => {
      const index = backends.indexOf(backend);
      events.push(`ask ${index + 1}`);
      const script = scripts[index];
      if (script === undefined) throw new RangeError();
      return script(sending, clock);
    },
    sendProbe: async (backend) => {
      probed.push(backends.indexOf(backend));
      throw new Error("no answer");
    },
    longestAnswerMilliseconds,
    discard: ({ content }) => void events.push(`discard ${content}`),
    report: (backend) => void reported.push(backends.indexOf(backend)),
  }).finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.pass(100);
  expect([choice.countUnderWay(clock.now()), clock.timers]).toEqual([0, 0]);
  const begun = begin.mock.results.map(({ value }) => value);
  return { end: await ending, events, probed, reported, begun, clock };
}

it("returns the first final answer, and discards the others", async () => {
  const { end, events } = await forward([problem("service_unavailable"), file]);
  expect(end).toMatchObject(FROM_FILE);
  expect(events).toEqual(["ask 1", "withdraw", "discard service_unavailable", "ask 2", "offer", "withdraw"]);
});

const FINAL: readonly ProblemCode[] = [
  "render_timeout",
  "output_too_large",
  "too_many_output_files",
  "template_compile_failed",
  "render_failed",
];
const OTHERS = (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => !FINAL.includes(code));

it.each(FINAL)("returns %s, which is final and no failure of the backend", async (code) => {
  const { end, probed } = await forward([problem(code), file]);
  expect([end, probed]).toMatchObject([{ kind: "answered", answer: { content: code } }, []]);
});

it.each(OTHERS)(
  "asks another backend after %s, and probes the first unless it was full or blames the request",
  async (code) => {
    const { end, probed } = await forward([problem(code), file]);
    const isOwn = ["forbidden", "not_found", "method_not_allowed", "service_unavailable"].includes(code);
    expect([end, probed]).toMatchObject([FROM_FILE, isOwn ? [0] : []]);
  },
);

describe("a backend that does not answer", () => {
  const never: Script = ({ signal, reportTaken }) => {
    reportTaken("all");
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };

  it("gets as much time as its own deadlines allow; the rest of the time budget is for another backend", async () => {
    const timeBudgets: number[] = [];
    const watched =
      (script: Script): Script =>
      (sending, clock) => {
        timeBudgets.push(sending.timeBudgetMilliseconds);
        return script(sending, clock);
      };
    const { end, probed, begun } = await forward([watched(never), watched(file)], false, 60_000, 200);
    expect(end).toMatchObject(FROM_FILE);
    expect(begun[1]?.beganAt).toBeLessThan(300);
    expect(timeBudgets).toEqual([200, 200]);
    expect(probed).toEqual([0]);
  });
});

it("a backend has its time once it has all of the body, however long that took", async () => {
  const slow: Script = async ({ reportTaken, signal }, clock) => {
    await clock.wait(5000);
    reportTaken("all");
    await clock.wait(9000);
    signal.throwIfAborted();
    return reply("file");
  };
  expect((await forward([slow], false, 60_000, 10_000)).end).toMatchObject(FROM_FILE);
});

it("remembers an attempt for a second after its deadline, because a late answer may still arrive", async () => {
  // Whether the backend has taken the body or not.
  for (const script of [file, problem("render_failed")]) {
    const { begun } = await forward([script], false, 60_000, 200);
    expect(begun.map(({ beganAt, expiresAt }) => Math.round(expiresAt - beganAt))).toEqual([1200]);
  }
});

it("an attempt whose client leaves is aborted, and nothing is said of its backend", async () => {
  const client = new AbortController();
  let wasAborted = false;
  const left: Script = ({ signal }) => {
    signal.addEventListener("abort", () => {
      wasAborted = true;
    });
    client.abort();
    return Promise.reject(new Error("aborted"));
  };
  const { probed, reported } = await forward([left], false, 2200, 2200, client.signal);
  expect([wasAborted, probed, reported]).toEqual([true, [], []]);
});

it("the body is not offered to others while the next backend gets it, because an earlier one takes the rest of it", async () => {
  let takeRest = () => {};
  const early: Script = async ({ reportTaken }) => {
    takeRest = () => reportTaken("all");
    return reply("service_unavailable");
  };
  const next: Script = async () => {
    takeRest();
    return reply("file");
  };
  const { events } = await forward([early, next]);
  expect(events).toEqual(["ask 1", "withdraw", "discard service_unavailable", "ask 2", "withdraw"]);
});

it("ends when another request has taken the memory of the body", async () => {
  const lost: Script = async ({ reportTaken }) => {
    reportTaken("all");
    throw new Error("connection reset");
  };
  const { end, events } = await forward([lost, file], true);
  expect(end).toMatchObject({ problem: { code: "service_unavailable", cause: "body_dropped" } });
  expect(events).toEqual(["ask 1", "offer", "withdraw"]);
});

describe("a body whose memory other requests may take", () => {
  const BYTES = 8 * 1024 ** 2;

  /** A render of two backends; the first has the body, and tells no more. */
  async function sendToSilentBackend() {
    const clock = new StillClock();
    const [a, b] = stubBackends("a", "b");
    const choice = new BackendChoice([a, b]);
    const memory = new BodyMemory(BYTES, BYTES, clock);
    const collector = new BodyCollector(BYTES, BYTES);
    const reservation = memory.reserve("caller", 600_000, collector);
    await reservation.growTo(BYTES);
    collector.add(new Uint8Array(BYTES));
    const attempts = new RenderAttempts(choice, TIME_BUDGET_MILLISECONDS, BYTES, () => 0);
    const answer = Promise.withResolvers<Answer>();
    const asked: string[] = [];
    const ending = tryBackends<Answer>({
      ...UNSAID,
      choice,
      attempts,
      clock,
      body: reservation,
      send: ({ name }, { signal, reportTaken }) => {
        asked.push(name);
        signal.addEventListener("abort", () => answer.reject(new Error("aborted")));
        reportTaken("all");
        return answer.promise;
      },
    });
    const take = () => memory.reserve("other", 600_000, new BodyCollector(0, 0)).tryGrowTo(BYTES);
    return { clock, choice, backend: a, take, answer, ending, asked };
  }

  it("is waited for to the end once it is gone, for it can be sent to no other backend", async () => {
    const { clock, choice, backend, take, answer, ending, asked } = await sendToSilentBackend();
    expect(take()).toBe(true);
    await clock.pass(20_000);
    expect(choice.isOutOfUse(backend)).toBe(true);
    answer.resolve(reply("file"));
    expect([await ending, asked]).toMatchObject([FROM_FILE, ["a"]]);
  });

  it("is no longer offered once its backend is given up, before it goes to the next one", async () => {
    const { clock, choice, backend, take, ending, asked } = await sendToSilentBackend();
    const fail = choice.end.bind(choice);
    const taken: boolean[] = [];
    choice.end = (attempt, now, result) => {
      taken.push(take());
      fail(attempt, now, result);
    };
    while (!choice.isOutOfUse(backend)) await clock.pass(100);
    await clock.pass(1000);
    expect([new Set(taken), asked]).toEqual([new Set([false]), ["a", "b"]]);
    await clock.pass(600_000);
    expect(await ending).toMatchObject({ problem: { cause: "no_backend_answered" } });
  });
});

it("before a large body goes to a second backend, two at a time are asked how busy they are, until one has a free slot", async () => {
  const BYTES = 64 * 1024;
  const clock = new StillClock();
  const backends = stubBackends("full", "b", "c", "d", "free");
  const choice = new BackendChoice(backends);
  const events: string[] = [];
  const ending = tryBackends<Answer>({
    ...UNSAID,
    choice,
    attempts: new RenderAttempts(choice, TIME_BUDGET_MILLISECONDS, BYTES, () => 0),
    clock,
    body: { bytes: new Uint8Array(BYTES), withdraw: () => {}, offer: () => {} },
    send: async ({ name }) => {
      events.push(`send to ${name}`);
      return reply(name === "full" ? "render_queue_full" : "file");
    },
    askLoad: async ({ name }, milliseconds) => {
      events.push(`ask ${name}`);
      await clock.wait(milliseconds);
      return { running: name === "free" ? 0 : 1, waiting: 0, slots: 1, isDraining: false };
    },
  });
  await clock.pass(999);
  expect(events).toEqual(["send to full", "ask b", "ask c"]);
  await clock.pass(2000);
  expect(await ending).toMatchObject(FROM_FILE);
  expect(events.slice(3)).toEqual(["ask d", "ask free", "send to free"]);
});

describe("a probe that is due", () => {
  it("goes out beside those of other backends if it is of one that has the render, for which two of six are kept", async () => {
    const backends = stubBackends(...Array(20).keys());
    const choice = new BackendChoice(backends);
    for (const backend of backends) choice.end(choice.begin(backend, 0, 1000), 0, failedAttempt("lost", ""));
    const clock = new StillClock();
    const probed: number[] = [];
    const probing = {
      choice,
      clock,
      sideRequests: new SideRequests(),
      sendProbe: async (backend: Backend) => {
        probed.push(backends.indexOf(backend));
        return clock.wait(5000).then(() => headOf("foreign"));
      },
      report: () => {},
    };
    void probeDueBackends(probing, null);
    void probeDueBackends(probing, null);
    expect(probed).toEqual([0]);
    void probeDueBackends(probing, backends[13] ?? null);
    expect(probed).toEqual([0, 13]);
    await clock.pass(60_000);
    expect(probed).toEqual([0, 13, 1, 2]);
    for (const own of backends.slice(14, 18)) {
      void probeDueBackends(probing, own);
      await clock.pass(60_000);
    }
    expect(probed).toEqual([0, 13, 1, 2, 14, 15]);
  });

  /** What becomes of a backend where a render has failed, and what is reported. */
  async function probeOnce(end: () => Promise<ResponseHead>, milliseconds = 0) {
    const [a, b] = stubBackends("a", "b");
    const choice = new BackendChoice([a, b]);
    const clock = new StillClock();
    const reports: string[] = [];
    choice.end(choice.begin(b, 0, 1000), 0, failedAttempt("lost", ""));
    let sent = 0;
    const probing = {
      choice,
      clock,
      sideRequests: new SideRequests(),
      sendProbe: async () => {
        sent++;
        await clock.passTo(milliseconds);
        return end();
      },
      report: ({ name }: Backend, { reason }: FailedAttempt) => reports.push(`${name}: ${reason}`),
    };
    await probeDueBackends(probing, b);
    await probeDueBackends(probing, b);
    return { isOutOfUse: choice.isOutOfUse(b), reports, sent };
  }

  it("shows by its answer whether the backend works", async () => {
    expect(await probeOnce(async () => headOf("file"))).toEqual({ isOutOfUse: false, reports: [], sent: 1 });
    const { isOutOfUse, reports } = await probeOnce(async () => headOf("forbidden"));
    expect([isOutOfUse, reports]).toEqual([true, [expect.stringMatching(/^b: probe: status 403/)]]);
  });

  it("shows that the backend works if it is about to stop", async () => {
    const draining = headOf("service_unavailable", { "X-Service-Load": "running=0,waiting=0,slots=1,draining" });
    expect((await probeOnce(async () => draining)).isOutOfUse).toBe(false);
  });

  it("shows by no answer that the backend is broken", async () => {
    const failing = () => Promise.reject(new Error("reset"));
    // However long it takes, the pause before the next one comes after it.
    expect(await probeOnce(failing, 5000)).toEqual({ isOutOfUse: true, reports: ["b: probe: Error: reset"], sent: 1 });
  });
});
