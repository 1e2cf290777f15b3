/** What the edge sends to backends by HTTP, and what of their answers reaches the client. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULT_LIMITS, limitsFingerprint } from "../../../rules/limits.ts";
import { BACKEND_TOKEN } from "../../support/tokens.ts";
import { headOf } from "../answer-head.ts";
import { newEdge } from "../send.ts";

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
  readonly headers: Headers;
  readonly body: string;
}

type Answer = (sent: Sent) => Response;

const pdf = (body: BodyInit | null = "%PDF-") => new Response(body, headOf("file"));
const unreachable: Answer = () => {
  throw new Error("connection refused");
};

/** Answers in place of backends. */
function standIn(answer: Answer): Sent[] {
  const all: Sent[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const sent = {
      url,
      init,
      headers: new Headers(init.headers),
      body: await new Response(init.body).text(),
    };
    all.push(sent);
    return answer(sent);
  });
  return all;
}

/** The answer of a new edge to a render. */
async function renderAt(bindings: Readonly<Record<string, string>>, body?: string): Promise<Response> {
  const edge = newEdge(bindings);
  const answer = await edge.render(body);
  await edge.settled();
  return answer;
}

const warn = vi.fn<(line: unknown) => void>();
beforeEach(() => void vi.stubGlobal("console", { ...console, log: () => {}, error: () => {}, warn: warn.mockClear() }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const lateBody = () =>
  new ReadableStream({
    async pull(controller) {
      // In real time: the time limit of a read is a real timer, which may not fire before the bytes come.
      await scheduler.wait(10);
      controller.enqueue(new Uint8Array(1));
      controller.close();
    },
  });

const isProbe = ({ headers }: Sent) => headers.get("X-Service-Caller") === "edge-probe";

const TWO = { SERVICE_BACKEND_URLS: "http://a http://b" };

it("a backend that is asked how busy it is before a large body goes there cannot lead the edge elsewhere", async () => {
  const cancel = vi.fn();
  const sent = standIn(({ url }) => {
    const idle = { headers: { "X-Service-Load": "running=0,waiting=0,slots=1" } };
    if (url.endsWith("/ready")) return new Response(new ReadableStream({ cancel }), idle);
    return sent.length > 1 ? pdf() : new Response("{}", headOf("render_queue_full"));
  });
  expect((await renderAt(TWO, `{"source":"x"${" ".repeat(65_536)}}`)).status).toBe(200);
  expect(sent.map(({ url, init }) => [new URL(url).pathname, init.redirect])).toEqual([
    ["/v1/render", "manual"],
    ["/ready", "manual"],
    ["/v1/render", "manual"],
  ]);
  // Its body is not needed, and would keep the connection.
  expect(cancel).toHaveBeenCalledOnce();
});

describe("a probe", () => {
  /** The requests that backends get when the first render of an edge fails at one of them. */
  async function afterFailure(answerToProbe: Answer): Promise<Sent[]> {
    let failed = "";
    const sent = standIn((one) => {
      if (isProbe(one)) return answerToProbe(one);
      failed ||= one.url;
      return one.url === failed ? unreachable(one) : pdf();
    });
    expect((await renderAt(TWO)).status).toBe(200);
    expect(sent.filter((one) => !isProbe(one)).map(({ url }) => url)).toHaveLength(2);
    return sent;
  }

  it("is a small render without a caller, for five seconds, to the backend at which a render failed", async () => {
    const timeout = vi.spyOn(AbortSignal, "timeout");
    const sent = await afterFailure(() => pdf());
    const [probe, ...others] = sent.filter(isProbe);
    expect(others).toEqual([]);
    expect(probe?.url).toBe(sent[0]?.url);
    expect(probe).toMatchObject({ body: '{"source":" "}', init: { method: "POST", redirect: "manual" } });
    expect(Object.fromEntries(probe?.headers ?? [])).toMatchObject({
      "content-type": "application/json",
      "x-request-id": expect.stringMatching(/^[0-9a-f-]{36}$/),
      "x-service-backend-token": BACKEND_TOKEN,
      "x-service-limits": limitsFingerprint(DEFAULT_LIMITS),
      "x-service-patience-milliseconds": "5000",
    });
    expect(timeout).toHaveBeenCalledWith(5000);
    expect(warn.mock.calls.flat()).toMatchObject([
      { message: "a backend did not answer", cause: "Error: connection refused" },
    ]);
  });

  it.each([
    ["an answer of as many bytes as a probe may have", () => pdf("x".repeat(65_536)), []],
    ["an answer whose body comes later than its head", () => pdf(lateBody()), []],
    ["an answer without a body", () => pdf(null), []],
    ["an answer that is too long", () => pdf("x".repeat(65_537)), ["probe: Error: the answer is too long or too slow"]],
    ["none", unreachable, ["probe: Error: connection refused"]],
  ])("that gets %s shows whether the backend works", async (_what, answer, causes) => {
    await afterFailure(answer);
    const lines: unknown[] = warn.mock.calls.flat().slice(1);
    expect(lines).toMatchObject(causes.map((cause) => ({ message: "a backend did not answer", cause })));
  });
});

it("an answer without a body that did not come from a backend is logged once for each attempt, as such", async () => {
  standIn(() => new Response(null, { status: 204 }));
  expect((await renderAt({})).status).toBe(503);
  const line = { message: "a backend did not answer", cause: "status 204 from something other than a backend" };
  expect(warn.mock.calls.flat()).toMatchObject([line, line]);
});

it("a full backend is logged as full", async () => {
  standIn(() => new Response("{}", headOf("render_queue_full")));
  expect((await renderAt({})).status).toBe(429);
  expect(warn.mock.calls[0]?.[0]).toMatchObject({ message: "a backend was full", origin: "backend-1" });
});

describe("an answer that does not say how long it is", () => {
  const chunks = (...sizes: number[]) =>
    new ReadableStream({
      pull(controller) {
        const size = sizes.shift();
        if (size === undefined) controller.close();
        else controller.enqueue(new Uint8Array(size));
      },
    });
  const LIMITED = { SERVICE_MAX_OUTPUT_BYTES: "2048" };

  it("is passed on up to the limit", async () => {
    standIn(() => pdf(chunks(1024, 1024)));
    const answer = await renderAt(LIMITED);
    expect([answer.status, (await answer.bytes()).length]).toEqual([200, 2048]);
    expect(warn).not.toHaveBeenCalled();
  });

  it("is cut off beyond the limit, and this is logged", async () => {
    standIn(() => pdf(chunks(1024, 1024, 1)));
    const answer = await renderAt(LIMITED);
    await expect(answer.bytes()).rejects.toThrow("over its limit");
    expect(warn.mock.calls).toMatchObject([[{ message: "an answer over the limit was cut off", origin: "backend-1" }]]);
  });
});
