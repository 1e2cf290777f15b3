/**
 * The client over real connections to a server that does what a service rarely does: rejects for want of capacity,
 * breaks connections, redirects, and responses that did not come from the service.
 */
import { once } from "node:events";
import { createServer } from "node:https";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type RetryEvent,
  ServiceClient,
  type ServiceClientOptions,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../../../clients/typescript/client.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";
import { makeCertificate } from "../../support/clients/certificate.ts";
import {
  answer,
  broken,
  FILE_NAMES,
  failed,
  full,
  fullDocument,
  NOT_THE_SERVICE,
  PDF,
  rendered,
  ScriptedAnswers,
  unknownProblem,
} from "../../support/clients/scripted-answers.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const server = new ScriptedAnswers();
let url: URL;

beforeEach(async () => {
  url = await server.start();
  // Without the random part of a wait, Retry-After: 0 is no wait.
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterEach(async () => {
  vi.restoreAllMocks();
  await server.stop();
});

const makeClient = (options: Partial<ServiceClientOptions> = {}) =>
  new ServiceClient({ url, token: API_TOKEN, checkBeforeSending: false, ...options });

const REQUEST = { source: "x" };
describe("a service without a free slot", () => {
  it("is asked again after Retry-After, until it renders", async () => {
    server.behaviours = [full(0), full(0), rendered];
    const events: RetryEvent[] = [];
    const result = await makeClient().render(REQUEST, { onRetry: (event) => events.push(event) });
    expect(result.ok).toBe(true);
    expect(server.requests).toHaveLength(3);
    expect(events).toMatchObject([
      { attempt: 1, waitSeconds: 0, reason: { code: "render_queue_full" } },
      { attempt: 2, waitSeconds: 0, reason: { code: "render_queue_full" } },
    ]);
  });

  it("is asked as often as the client is allowed to, and its last problem is the result", async () => {
    server.behaviours = [full(0)];
    const result = await makeClient({ retry: { maxAttempts: 3 } }).render(REQUEST);
    expect(result).toMatchObject({ ok: false, checkedLocally: false, problem: { context: { retry_after: 0 } } });
    expect(server.requests).toHaveLength(3);
  });

  it("says in its problem when to ask again if a proxy has removed Retry-After", async () => {
    const problemType = { "Content-Type": "Application/Problem+JSON; charset=utf-8" };
    server.behaviours = [answer(429, problemType, fullDocument(61))];
    expect(await makeClient().render(REQUEST)).toMatchObject({ problem: { context: { retry_after: 61 } } });
    expect(server.requests).toHaveLength(1);
  });

  it("is no longer waited for when the signal is aborted", async () => {
    server.behaviours = [full(30)];
    const controller = new AbortController();
    const rendering = makeClient().render(REQUEST, {
      signal: controller.signal,
      onRetry: () => controller.abort(new Error("enough")),
    });
    await expect(rendering).rejects.toThrow("enough");
    expect(server.requests).toHaveLength(1);
  });
});

it.each([
  ["render_failed", 500],
  ["service_unavailable", 503],
] as const)("a failure of the service itself, %s, is not retried", async (code, status) => {
  server.behaviours = [failed(code, status)];
  expect(await makeClient().render(REQUEST)).toMatchObject({ ok: false, problem: { code, origin: "service", status } });
  expect(server.requests).toHaveLength(1);
});

it.each([502, 200])("an answer %i of something else is not read to its end", async (status) => {
  const cancel = vi.fn();
  const headers = { "Content-Type": "text/html" };
  const fetch = async () => new Response(new ReadableStream({ cancel }), { status, headers });
  await expect(makeClient({ fetch, retry: false }).render(REQUEST)).rejects.toThrow();
  expect(cancel).toHaveBeenCalledOnce();
});

describe("a service that cannot be reached", () => {
  it("is tried again when the connection broke", async () => {
    server.behaviours = [broken, rendered];
    const events: RetryEvent[] = [];
    const startMilliseconds = performance.now();
    const result = await makeClient().render(REQUEST, { onRetry: (event) => events.push(event) });
    expect(result.ok).toBe(true);
    // Timers of Node may be a millisecond early.
    expect(performance.now() - startMilliseconds).toBeGreaterThan(498);
    expect(events).toMatchObject([{ attempt: 1, waitSeconds: 0.5, reason: expect.any(ServiceUnreachableError) }]);
  });

  it("is named by its URL and by why it did not answer, with how often and how long it was tried", async () => {
    const refused = `http://${LOOPBACK}:${await takeFreePort()}`;
    const events: RetryEvent[] = [];
    const error = await makeClient({ url: `${refused}/path`, retry: { maxAttempts: 2 } })
      .render(REQUEST, { onRetry: (event) => events.push(event) })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ServiceUnreachableError);
    const details = { url: refused, reason: "refused", status: null, attempts: 2, cause: expect.any(TypeError) };
    expect(error).toMatchObject({ name: "ServiceUnreachableError", ...details });
    expect(events).toHaveLength(1);
    expect(error.elapsedSeconds).toBeGreaterThan(0.4);
    expect(error.message).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+ cannot be reached: the connection was refused \(ECONNREFUSED\)\. Tried 2 times in \d+\.\d s\.$/,
    );
    server.behaviours = [broken];
    await expect(makeClient({ retry: false }).render(REQUEST)).rejects.toMatchObject({
      reason: "connection_broken",
      attempts: 1,
    });
    const unknown = makeClient({ url: "http://no-such-host.invalid", retry: false }).render(REQUEST);
    await expect(unknown).rejects.toMatchObject({ url: "http://no-such-host.invalid", reason: "name_not_found" });
  });

  it("is told apart by its certificate, by its silence, and by another protocol", async () => {
    const tls = createServer(makeCertificate({ fromDays: -1, toDays: 1 }, ["localhost"]));
    const { port } = await listenOnLoopback(tls);
    onTestFinished(() => closeServer(tls));
    const rejected = (options: Partial<ServiceClientOptions>) =>
      makeClient({ retry: false, ...options }).render(REQUEST);
    await expect(rejected({ url: `https://localhost:${port}` })).rejects.toMatchObject({
      reason: "certificate",
      message: `https://localhost:${port} cannot be reached: its certificate is not accepted (DEPTH_ZERO_SELF_SIGNED_CERT).`,
    });
    await expect(rejected({ url: `https://${url.host}` })).rejects.toMatchObject({ reason: "wrong_protocol" });
    server.behaviours = [() => {}];
    // Node's own agent with a shorter patience than its five minutes.
    const agent: object = Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.2"));
    const dispatcher: unknown = Reflect.construct(Reflect.get(agent, "constructor"), [{ headersTimeout: 50 }]);
    const impatient: typeof fetch = (input, init) => fetch(input, Object.assign({}, init, { dispatcher }));
    await expect(rejected({ fetch: impatient })).rejects.toMatchObject({ reason: "timed_out" });
  });

  it.each([
    ["EHOSTUNREACH", "no_route"],
    ["EPROTO", "wrong_protocol"],
    ["UND_ERR_CONNECT_TIMEOUT", "timed_out"],
    ["EMFILE", "unknown"],
  ])("with the code %s has the reason %s", async (code, reason) => {
    const cause = Object.assign(new Error("no"), { code });
    const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: new AggregateError([cause]) }));
    await expect(makeClient({ fetch, retry: false }).render(REQUEST)).rejects.toMatchObject({ reason });
  });

  it.each([429, 502])("may be behind a gateway that answers %i", async (status) => {
    server.behaviours = [
      answer(status, { "Content-Type": "text/html", "Retry-After": "0" }, "<h1>Sorry</h1>"),
      rendered,
    ];
    expect(await makeClient().render(REQUEST)).toMatchObject({ ok: true });
    server.behaviours = [answer(status, { "Content-Type": "text/html" })];
    await expect(makeClient({ retry: false }).render(REQUEST)).rejects.toMatchObject({
      name: "ServiceUnreachableError",
      status,
      reason: "gateway",
    });
  });

  it("is an error if the file breaks off, and is not retried", async () => {
    server.behaviours = [
      (response) => {
        response.writeHead(200, { ...PDF, "Content-Length": "1000" });
        response.write("%PDF-", () => response.destroy());
      },
    ];
    const file = await makeClient().render(REQUEST);
    if (!file.ok) throw new Error("no file");
    await expect(file.bytes()).rejects.toThrow(ServiceUnreachableError);
    expect(server.requests).toHaveLength(1);
  });
});

describe("an abort", () => {
  it("before the call sends nothing", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    for (const client of [makeClient(), makeClient({ retry: false })]) {
      await expect(client.render(REQUEST, { signal })).rejects.toThrow("enough");
      await expect(client.constraints({ signal })).rejects.toThrow("enough");
    }
    expect(server.requests).toHaveLength(0);
  });

  it("during the render closes the connection", async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> | undefined;
    server.behaviours = [
      (response) => {
        closed = once(response, "close");
        controller.abort(new Error("enough"));
      },
    ];
    await expect(makeClient({ retry: false }).render(REQUEST, { signal: controller.signal })).rejects.toThrow("enough");
    await closed;
    expect(server.requests).toHaveLength(1);
  });

  it("while the file arrives ends it", async () => {
    const controller = new AbortController();
    server.behaviours = [
      (response) => {
        response.writeHead(200, { ...PDF, "Content-Length": "1000" });
        response.write("%PDF-");
      },
    ];
    const file = await makeClient().render(REQUEST, { signal: controller.signal });
    if (!file.ok) throw new Error("no file");
    const reading = file.bytes();
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});

describe("a response that did not come from the service", () => {
  it.each(NOT_THE_SERVICE)("is an error and is not retried: %s", async (_what, behaviour, status) => {
    server.behaviours = [behaviour];
    await expect(makeClient().render(REQUEST)).rejects.toMatchObject({ name: "UnexpectedResponseError", status });
    await expect(makeClient().constraints()).rejects.toBeInstanceOf(UnexpectedResponseError);
    expect(server.requests).toHaveLength(2);
  });

  it("is an answer without a body", async () => {
    const client = makeClient({ fetch: async () => new Response(null, { headers: PDF }) });
    await expect(client.render(REQUEST)).rejects.toBeInstanceOf(UnexpectedResponseError);
  });

  it("never gets the token by a redirect", async () => {
    server.behaviours = [answer(307, { Location: `http://localhost:${url.port}/` }), rendered];
    await expect(makeClient().render(REQUEST)).rejects.toThrow("redirects");
    expect(server.requests).toHaveLength(1);
  });
});

it("a problem with a code, members and context that this version does not know is passed on", async () => {
  const document = unknownProblem("request");
  server.behaviours = [
    answer(403, { "Content-Type": "application/problem+json; charset=utf-8" }, JSON.stringify(document)),
  ];
  expect(await makeClient().render(REQUEST)).toEqual({
    ok: false,
    checkedLocally: false,
    problem: { ...document, requestId: "id" },
  });
});

describe("a check before sending", () => {
  const noConstraints = answer(503, { "Content-Type": "text/plain" });

  it("is skipped if the constraints cannot be fetched, and the request's own answer counts", async () => {
    server.behaviours = [noConstraints, rendered];
    expect(await makeClient({ checkBeforeSending: true }).render(REQUEST)).toMatchObject({ ok: true });
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  });
});

describe("the name of a file", () => {
  it.each(FILE_NAMES)("in the field %s is %s", async (field, filename) => {
    server.behaviours = [answer(200, { ...PDF, "Content-Disposition": field }, "%PDF-")];
    expect(await makeClient().render(REQUEST)).toMatchObject({ filename, requestId: null });
  });
});

it("the routes are below the path of the URL, whose query is not part of it", async () => {
  server.behaviours = [rendered];
  for (const path of ["documents", "documents/", "documents?key=1#top"]) {
    await makeClient({ url: new URL(path, url) }).render(REQUEST);
    expect(server.requests.at(-1)?.url).toBe("/documents/v1/render");
  }
  expect(server.requests.at(-1)?.headers).toMatchObject({
    "x-service-api-token": API_TOKEN,
    "content-type": "application/json",
    "content-length": "14",
  });
});
