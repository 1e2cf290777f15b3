/** The attempts of one render on origins that a test scripts, without any network. */
import { describe, expect, it } from "vitest";
import { SYSTEM_CLOCK } from "../../../edge/clock.ts";
import { OriginChoice } from "../../../edge/origins/origin-choice.ts";
import { RenderAttempts } from "../../../edge/origins/render-attempts.ts";
import { type ForwardingEnd, type OriginAnswer, type Sending, tryOrigins } from "../../../edge/origins/try-origins.ts";

type Answer = Omit<OriginAnswer<string>, "load">;
type Script = (sending: Sending) => Promise<Answer>;

const PATIENCE_MILLISECONDS = 60_000;

const file: Script = async ({ sent }) => {
  sent();
  return { status: 200, content: "file", retryAfter: null, answer: "file" };
};
const problem =
  (status: number, retryAfter: string | null = null): Script =>
  async () => ({ status, content: "problem", retryAfter, answer: `problem ${status}` });

interface Outcome {
  readonly end: ForwardingEnd<string>;
  /** What became of the body, and which origins were asked, in order. */
  readonly events: readonly string[];
  readonly choice: OriginChoice;
}

/** Asks the origins from the first to the last. */
async function forward(
  scripts: readonly Script[],
  bodies: (Uint8Array<ArrayBuffer> | null)[] = [],
  patienceMilliseconds = PATIENCE_MILLISECONDS,
): Promise<Outcome> {
  const events: string[] = [];
  const choice = new OriginChoice(scripts.length);
  const deadline = Date.now() + patienceMilliseconds;
  const body = {
    get bytes() {
      const next = bodies.shift();
      return next === undefined ? new Uint8Array(1) : next;
    },
    keep: () => void events.push("keep"),
    offer: () => void events.push("offer"),
  };
  const end = await tryOrigins<Script, string>({
    origins: scripts,
    choice,
    // Of two origins that are equally good the first by place is taken.
    attempts: new RenderAttempts(choice, deadline, () => 0),
    clock: SYSTEM_CLOCK,
    deadline,
    body,
    clientSignal: new AbortController().signal,
    send: async (script, sending) => {
      events.push(`ask ${scripts.indexOf(script) + 1}`);
      return { ...(await script(sending)), load: null };
    },
    isAlive: async () => true,
    discard: async (answer) => void events.push(`discard ${answer}`),
    report: () => {},
  });
  expect(choice.underWay(Date.now())).toBe(0);
  return { end, events, choice };
}

it("returns the first final answer, and discards the others", async () => {
  const { end, events } = await forward([problem(503), file]);
  expect(end).toEqual({ kind: "answered", answer: "file" });
  expect(events).toEqual(["keep", "ask 1", "discard problem 503", "keep", "ask 2", "offer"]);
});

it.each([400, 408, 413, 422, 500])("returns a problem with status %i, which is final", async (status) => {
  expect((await forward([problem(status), file])).end).toEqual({ kind: "answered", answer: `problem ${status}` });
});

it.each([401, 403, 404, 405, 502, 503])("asks another origin after a problem with status %i", async (status) => {
  expect((await forward([problem(status), file])).end).toEqual({ kind: "answered", answer: "file" });
});

it.each([200, 201, 301, 400, 429, 502])(
  "asks another origin after status %i with what no backend sends",
  async (status) => {
    const proxy: Script = async () => ({ status, content: "foreign", retryAfter: "9", answer: "page" });
    expect((await forward([proxy, file])).end).toEqual({ kind: "answered", answer: "file" });
  },
);

it.each([
  ["7", 7],
  ["0", 1],
  [null, 1],
  ["soon", 1],
  ["-5", 1],
  ["0x10", 1],
  ["1000000000", 900],
  ["9".repeat(400), 900],
])("passes Retry-After %j of a full origin on as %i", async (retryAfter, retryAfterSeconds) => {
  expect((await forward([problem(429, retryAfter)])).end).toEqual({ kind: "busy", retryAfterSeconds });
});

describe("an origin that has not answered at the deadline", () => {
  const PROBE_TIMEOUT_MILLISECONDS = 3000;
  const never: Script = ({ signal }) => {
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const isBlamed = (choice: OriginChoice) => choice.takeDue(Date.now() + 60_000, PROBE_TIMEOUT_MILLISECONDS) !== null;

  it("has failed if it had all of the time", async () => {
    const { end, choice } = await forward([never], [], 200);
    expect([end.kind, isBlamed(choice)]).toEqual(["failed", true]);
  });

  it("is not blamed for the time that another one took", async () => {
    const full: Script = async (sending) => {
      await SYSTEM_CLOCK.wait(50);
      return problem(429, "3")(sending);
    };
    const { end, choice } = await forward([full, never], [], 400);
    expect(end).toEqual({ kind: "busy", retryAfterSeconds: 3 });
    expect(isBlamed(choice)).toBe(false);
  });
});

it("ends when another request has taken the memory of the body", async () => {
  const lost: Script = async ({ sent }) => {
    sent();
    throw new Error("connection reset");
  };
  const { end, events } = await forward([lost, file], [new Uint8Array(1), null]);
  expect(end).toEqual({ kind: "failed" });
  expect(events).toEqual(["keep", "ask 1", "offer", "keep"]);
});

it("does not offer the body while an origin gets it, even if the previous origin then takes the rest", async () => {
  let sentLate = () => {};
  const early: Script = async ({ sent }) => {
    sentLate = sent;
    return { status: 429, content: "problem", retryAfter: null, answer: "problem 429" };
  };
  const next: Script = async (sending) => {
    sentLate();
    return file(sending);
  };
  const { end, events } = await forward([early, next]);
  expect(end.kind).toBe("answered");
  expect(events).toEqual(["keep", "ask 1", "discard problem 429", "keep", "ask 2", "offer"]);
});
