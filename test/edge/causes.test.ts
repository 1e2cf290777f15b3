/**
 * Why the edge answers 408, 429 and 503: each cause is provoked, and must be in the log line; that of a 429 or 503 also
 * in the detail, and in the report to a backend.
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { MONOTONIC_CLOCK } from "../../edge/clock.ts";
import { BodyCollector } from "../../protocol/body-collector.ts";
import { CAPABILITIES_PATH } from "../../protocol/capabilities.ts";
import { ATTEMPT_FAILURES, type AttemptFailure, CAUSES } from "../../rules/causes.ts";
import type { ProblemCode } from "../../rules/problem.ts";
import { BACKEND_CAPACITY_CAUSES, BACKEND_CAUSES, MACHINE_CAUSES, REFUSALS } from "../support/causes.ts";
import type { ReceivedProblem } from "../support/problems.ts";
import { BACKEND_TOKEN } from "../support/tokens.ts";
import { headOf } from "./answer-head.ts";
import { newEdge } from "./send.ts";

const COUNTS = "X-Service-Edge-Counts";
const MEBIBYTE = 1024 * 1024;
const LARGE_BODY = `{"source":"x"${" ".repeat(MEBIBYTE)}}  `;
/** With it, a caller has 4 MiB for all but its oldest body, and an isolate 32 MiB. */
const LARGE_BODIES = { SERVICE_MAX_REQUEST_BODY_BYTES: String(32 * MEBIBYTE) };
/** Half of what an isolate reads at the same time. */
const SHARE_OF_UPLOADS = 512;

type Answer = (init: RequestInit, url: URL) => Promise<Response>;
type EdgeCause = "no_tokens" | Exclude<keyof typeof REFUSALS, (typeof BACKEND_CAUSES | typeof MACHINE_CAUSES)[number]>;

const { log, info, warn, error } = console;
const lines: Record<string, unknown>[] = [];
/** What the backends were told, by name. */
const reported = new Map<string, string>();

beforeEach(() => {
  lines.length = 0;
  reported.clear();
  Object.assign(console, { log: (line: Record<string, unknown>) => lines.push(line), warn: () => {}, error: () => {} });
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  Object.assign(console, { log, info, warn, error });
});

/** A separate edge with the callers a to f. */
function edgeWith(bindings: object = {}) {
  const { ask, render } = newEdge({ SERVICE_API_TOKENS: "a:a, b:b, c:c, d:d, e:e, f:f", ...bindings });
  const renderAs = (token = "a", body: BodyInit = '{"source":"x"}', length = "14") =>
    render(body, { "X-Service-Api-Token": token, "Content-Length": length });
  return {
    ask,
    render: renderAs,
    /** Begins an upload that holds so much once more than half of it has been read. */
    upload: (token: string, bytes = 4 * MEBIBYTE): Promise<void> => {
      const { readable, writable } = new IdentityTransformStream();
      void renderAs(token, readable, String(bytes));
      return writable.getWriter().write(new Uint8Array(bytes / 2 + 1));
    },
  };
}

type Edge = ReturnType<typeof edgeWith>;

function standIn(answer: Answer): void {
  vi.stubGlobal("fetch", async (address: string, init: RequestInit) => {
    const url = new URL(address);
    if (url.pathname !== "/metrics") return answer(init, url);
    const headers = new Headers(init.headers);
    // A backend believes only an edge.
    const counts = headers.get("X-Service-Backend-Token") === BACKEND_TOKEN ? (headers.get(COUNTS) ?? "") : "";
    for (const [name, count] of new URLSearchParams(counts)) reported.set(name, count);
    return new Response("", { headers: { [COUNTS]: counts } });
  });
}

const pdf = () => new Response("%PDF-", headOf("file", { "Content-Length": "5" }));
const problem =
  (code: ProblemCode, cause = ""): Answer =>
  async () =>
    new Response("{}", headOf(code, { "X-Service-Problem-Cause": cause }));

const unreachable: Answer = async () => {
  throw new Error("connection refused");
};

/** The wait for memory ends at once: nothing else has its deadline. */
function hastenWaits(): void {
  const after = MONOTONIC_CLOCK.after;
  vi.spyOn(MONOTONIC_CLOCK, "after").mockImplementation((milliseconds, callback) =>
    after(milliseconds === 5000 ? 0 : milliseconds, callback),
  );
}

const PROVOCATIONS: Readonly<Record<EdgeCause, () => Promise<[Edge, Response]>>> = {
  rate_limit: () => refused({ CALLER_RATE_LIMITER: { limit: async () => ({ success: false }) } }),
  uploads: async () => {
    const edge = edgeWith();
    for (let n = 0; n < SHARE_OF_UPLOADS; n++) void edge.render("a", new IdentityTransformStream().readable);
    return [edge, await edge.render()];
  },
  open_requests: async () => {
    const edge = edgeWith({ SERVICE_MAX_OPEN_RENDERS: "1" });
    standIn(async () => pdf());
    void edge.render("a", new IdentityTransformStream().readable);
    return [edge, await edge.render("b")];
  },
  edge_memory: async () => {
    const edge = edgeWith(LARGE_BODIES);
    for (const token of [..."abbccddee"]) await edge.upload(token);
    hastenWaits();
    return [edge, await edge.render("f")];
  },
  edge_memory_share: async () => {
    const edge = edgeWith(LARGE_BODIES);
    for (const bytes of [4 * MEBIBYTE, 4 * MEBIBYTE]) await edge.upload("a", bytes);
    hastenWaits();
    return [edge, await edge.render("a")];
  },
  backend_full: () => {
    standIn((init, url) => (url.host === "a" ? problem("render_queue_full", "slots_busy") : unreachable)(init, url));
    return refused({ SERVICE_BACKEND_URLS: "http://a http://b" });
  },
  no_tokens: () => refused({ SERVICE_API_TOKENS: "" }),
  no_backends: () => refused({ SERVICE_BACKEND_URLS: "" }),
  no_backend_answered: () => {
    standIn(unreachable);
    return refused();
  },
  body_dropped: async () => {
    const edge = edgeWith(LARGE_BODIES);
    const free = vi.spyOn(BodyCollector.prototype, "free");
    standIn(async ({ body }) => {
      await new Response(body).bytes();
      void edge.upload("f");
      await vi.waitFor(() => expect(free).toHaveBeenCalled());
      throw new Error("connection reset");
    });
    for (const token of [..."aaccddee"]) await edge.upload(token);
    return [edge, await edge.render("b")];
  },
  edge_failure: () => refused({ SERVICE_MAX_OUTPUT_BYTES: "many" }),
};

async function refused(bindings: object = {}, body?: string): Promise<[Edge, Response]> {
  const edge = edgeWith(bindings);
  return [edge, await edge.render("a", body, body === undefined ? undefined : String(body.length))];
}

/** What the answer, its log line and the report say. */
async function told(edge: Edge, answer: Response) {
  const { code, detail } = await answer.json<ReceivedProblem>();
  const line = lines.find((one) => one.status === answer.status);
  await edge.ask("/metrics");
  return { detail, code, line };
}

it.each(Object.entries(PROVOCATIONS))("says why it rejects a request: %s", async (cause, provoke) => {
  standIn(unreachable);
  const [edge, answer] = await provoke();
  const { code, detail, line } = await told(edge, answer);
  const isFull = cause in CAUSES.render_queue_full;
  expect([answer.status, code]).toEqual(isFull ? [429, "render_queue_full"] : [503, "service_unavailable"]);
  expect(detail).toContain(REFUSALS[cause as EdgeCause]);
  expect(line?.[isFull ? "capacityCause" : "unavailableCause"]).toBe(cause);
  // Without backends there is nobody to tell. Then `/metrics` has nothing, or is not served.
  const isTold = cause !== "no_backends" && cause !== "edge_failure";
  expect(reported.get(cause)).toBe(isTold ? "1" : undefined);
});

it.each(BACKEND_CAPACITY_CAUSES)("passes on why the only backend refuses a render: %s", async (cause) => {
  standIn(problem("render_queue_full", cause));
  const [edge, answer] = await refused();
  expect(answer.headers.get("Retry-After")).toBe("1");
  const { detail, line } = await told(edge, answer);
  expect(detail).toBe(`${CAUSES.render_queue_full[cause]} Try again in 1 second.`);
  expect(line).toMatchObject({ capacityCause: cause, failures: ["full"] });
  expect(reported.get(cause)).toBe("1");
});

it.each(Object.keys(CAUSES.render_timeout))("logs why a backend has ended a render: %s", async (cause) => {
  standIn(problem("render_timeout", cause));
  const [edge, answer] = await refused();
  expect([answer.status, answer.headers.get("Retry-After")]).toEqual([408, "1"]);
  const { line } = await told(edge, answer);
  expect(line).toMatchObject({ code: "render_timeout", timeoutCause: cause });
  // The backend counts its timeouts itself.
  expect([...reported]).toEqual([]);
});

it("says why it has no capabilities to tell", async () => {
  standIn(unreachable);
  const edge = edgeWith();
  const answer = await edge.ask(CAPABILITIES_PATH);
  expect(answer.status).toBe(503);
  const { detail, line } = await told(edge, answer);
  expect(detail).toContain(REFUSALS.no_backend_answered);
  expect(line?.unavailableCause).toBe("no_backend_answered");
  expect(reported.get("no_backend_answered")).toBe("1");
});

const FAILURES: Readonly<Record<AttemptFailure, Answer>> = {
  full: problem("render_queue_full"),
  refused_request: problem("invalid_request"),
  unreachable,
  interrupted: async ({ body }) => {
    const half = LARGE_BODY.length / 2;
    await new Response(body).body?.getReader({ mode: "byob" }).readAtLeast(half, new Uint8Array(half));
    throw new Error("connection reset");
  },
  lost: async ({ body }) => {
    await new Response(body).bytes();
    throw new Error("connection reset");
  },
  token_rejected: problem("forbidden"),
  foreign: async () => new Response("<html>", { status: 502 }),
  unavailable: problem("service_unavailable", "draining"),
};

it.each(Object.entries(FAILURES))("says how an attempt on a backend failed: %s", async (failure, answer) => {
  standIn(answer);
  const [edge, response] = await refused({}, failure === "interrupted" ? LARGE_BODY : undefined);
  const { detail, line } = await told(edge, response);
  if (failure !== "full") expect(detail).toContain(`One ${ATTEMPT_FAILURES[failure as AttemptFailure]}`);
  expect(line?.failures).toContain(failure);
  expect(Number(reported.get(failure))).toBeGreaterThan(0);
});

it("provokes every cause that no backend gives, and every failure of an attempt", () => {
  const ofBackends = new Set<string>([...BACKEND_CAUSES, ...MACHINE_CAUSES]);
  const others = Object.keys(REFUSALS).filter((cause) => cause === "no_tokens" || !ofBackends.has(cause));
  expect(Object.keys(PROVOCATIONS).sort()).toEqual(others.sort());
  expect(Object.keys(FAILURES)).toEqual(Object.keys(ATTEMPT_FAILURES));
});

it("reports again what no backend has acknowledged", async () => {
  standIn(unreachable);
  const [edge] = await refused();
  vi.stubGlobal("fetch", unreachable);
  await edge.render();
  standIn(unreachable);
  await edge.ask("/metrics");
  expect(reported.get("no_backend_answered")).toBe("2");
  // What has been acknowledged is not.
  const repeated = new Set<string | null>();
  standIn(async (init) => {
    repeated.add(new Headers(init.headers).get(COUNTS));
    return pdf();
  });
  expect((await edge.render()).status).toBe(200);
  expect(repeated).toEqual(new Set([null]));
});

it("reports how attempts failed even if another backend has answered the request", async () => {
  standIn(async (_init, url) => (url.host === "a" ? new Response("<html>", { status: 502 }) : pdf()));
  const edge = edgeWith({ SERVICE_BACKEND_URLS: "http://a http://b" });
  for (let count = 0; count < 20; count++) await edge.render();
  await edge.ask("/metrics");
  expect([...reported.keys()]).toEqual(["foreign"]);
});
