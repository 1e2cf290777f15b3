/**
 * The clients for TypeScript and Python over real connections to a server that does what a service rarely does, and to
 * servers that are not the service: one table of faults for both.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { problem, problemDocument } from "../../../rules/problem.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";
import { bothClients, type CallOptions } from "../../support/clients/both-clients.ts";
import { makeCertificate } from "../../support/clients/certificate.ts";
import {
  BROKEN_ANSWERS,
  HOSTILE_ANSWERS,
  HOSTILE_DELAYS,
  LOW_LIMITS,
  MAX_SENT_BYTES,
} from "../../support/clients/hostile-answers.ts";
import {
  answer,
  type Behaviour,
  breakConnection,
  endlessAnswer,
  full,
  INSTANCE,
  PDF,
  PROBLEM,
  reject,
  sendPdf,
  startScript,
  startScriptedService,
  WHOLE_PDF,
} from "../../support/clients/scripted-service.ts";
import { startTamperingProxy } from "../../support/clients/tampering-proxy.ts";
import { API_TOKEN, UNREACHABLE_URL } from "../../support/tokens.ts";

beforeAll(() => {
  // Without the random part of a wait, Retry-After: 0 is no wait.
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterAll(() => void vi.restoreAllMocks());

/** A service with a certificate that nobody has signed. */
async function startTls(): Promise<string> {
  const certificate = makeCertificate({ fromDays: -1, toDays: 1 }, ["localhost"]);
  return (await startTamperingProxy(new URL(UNREACHABLE_URL), () => {}, { certificate })).url.origin;
}

/** A problem of a code that no version of a client knows. @param status as JSON */
function unknownProblem(origin: string, status = "403"): Behaviour {
  const known = problemDocument(problem("forbidden", "No.", {}), INSTANCE);
  const document = { ...known, code: "brand_new", context: { colour: "red" }, extra: 1, origin };
  const text = JSON.stringify(document).replace('"status":403', `"status":${status}`);
  return answer(403, { "Content-Type": "application/problem+json; charset=utf-8" }, text);
}

const failed = (code: "render_failed" | "service_unavailable") => reject(problem(code, "Failed.", {}));
const fullBehindProxy = full(61, { "Content-Type": "Application/Problem+JSON; charset=utf-8" });
const gateway = (status: number) =>
  answer(status, { "Content-Type": "text/html", "Retry-After": "0" }, "<h1>Sorry</h1>");

/** @param seconds after the date of the answer */
const gatewayUntil = (seconds: number): Behaviour => {
  const [date, until] = [0, seconds * 1000].map((later) => new Date(1_800_000_000_000 + later).toUTCString());
  return answer(429, { "Content-Type": "text/html", Date: date ?? "", "Retry-After": until ?? "" }, "<h1>Sorry</h1>");
};
const foreignProblem = (status: number) =>
  answer(
    status,
    { ...PROBLEM, "Retry-After": "0" },
    JSON.stringify({ type: "about:blank", title: "Too many", status }),
  );

const ASKED: readonly (readonly [what: string, behaviours: Behaviour[], requests: number, result: object])[] = [
  ["while no slot is free, as often as it may", [full(0)], 3, { ok: false, problem: { context: { retry_after: 0 } } }],
  ["once if it is to wait beyond the total time", [fullBehindProxy], 1, { problem: { context: { retry_after: 61 } } }],
  ["once if rendering fails", [failed("render_failed")], 1, { problem: { status: 500, origin: "service" } }],
  ["once if the service is unavailable", [failed("service_unavailable")], 1, { checkedLocally: false }],
  ["again if a gateway has no slot", [gateway(429), sendPdf], 2, { ok: true }],
  ["again if a gateway has no service", [gateway(502), sendPdf], 2, { ok: true }],
  ["again until the date that a gateway names", [gatewayUntil(0), sendPdf], 2, { ok: true }],
  [
    "once if that date is beyond the total time",
    [gatewayUntil(3600)],
    1,
    { reason: "gateway", retryAfterSeconds: 300 },
  ],
  ["again if a gateway has a problem of its own", [foreignProblem(503), sendPdf], 2, { ok: true }],
  ["again if the file breaks off", [answer(200, PDF, "%PDF-1.7\n%%EO"), sendPdf], 2, { ok: true, content: WHOLE_PDF }],
  ["again if half a problem comes", [answer(503, PROBLEM, '{"code":'), sendPdf], 2, { ok: true }],
  ["once if it does not know the problem", [unknownProblem("request")], 1, { problem: { context: { colour: "red" } } }],
];

const UNREACHABLE: readonly (readonly [reason: string, words: RegExp, start: () => Promise<string> | string])[] = [
  ["name_not_found", /: the host name was not found \(.+\)\.$/, () => "http://no-such-host.invalid"],
  ["certificate", /: its certificate is not accepted \(.*self.signed.*\)\.$/i, startTls],
  ["connection_broken", /: the connection broke/, async () => (await startScript(breakConnection)).url],
  [
    "wrong_protocol",
    /WRONG_VERSION_NUMBER\)\.$/,
    async () => (await startScript(sendPdf)).url.replace("http:", "https:"),
  ],
];

const SILENT: readonly (readonly [when: string, behaviour: Behaviour])[] = [
  ["before its answer", () => {}],
  ["after the head of a file", (response) => response.writeHead(200, PDF).flushHeaders()],
  ["within a file", (response) => void response.writeHead(200, PDF).write("%PDF-1.7")],
  ["within a problem", (response) => void response.writeHead(422, PROBLEM).write("{")],
];

/** What answers at the address of a service but is not one. */
const NOT_THE_SERVICE: readonly (readonly [what: string, behaviour: Behaviour, status: number])[] = [
  ["a page", answer(200, { "Content-Type": "text/html" }, "<h1>Log in</h1>"), 200],
  ["JSON", answer(200, { "Content-Type": "application/json" }, "{}"), 200],
  ["JSON without end", endlessAnswer(200, { "Content-Type": "application/json" }), 200],
  ["nothing", answer(204, {}), 204],
  ["a page that is not found", answer(404, { "Content-Type": "text/html" }), 404],
  ["a problem of another service", answer(400, PROBLEM, '{"title":"x"}'), 400],
  ["a problem of an unknown origin", unknownProblem("elsewhere"), 403],
  ["a problem whose status is beyond every number", unknownProblem("request", "9".repeat(400)), 403],
  ["a problem that is not JSON", answer(400, PROBLEM, "no"), 400],
  ["a redirect", answer(307, { Location: "/elsewhere" }), 307],
];

/** Values of `Content-Disposition`, with the name of the file that a client takes from each. */
const FILE_NAMES: readonly (readonly [field: string, name: string])[] = [
  ['inline; filename="a.pdf"', "a.pdf"],
  ["inline; filename=a.pdf", "a.pdf"],
  ["attachment; filename=\"?.pdf\"; filename*=UTF-8''%E2%82%AC.pdf", "€.pdf"],
  ['inline; filename="../../etc/passwd"', "passwd"],
  ['inline; filename="C:\\\\temp\\\\a.pdf"', "a.pdf"],
  ['inline; filename=".."', "document.pdf"],
  ['inline; filename="a/"', "document.pdf"],
  ["inline; filename*=UTF-8''a%00.pdf", "document.pdf"],
  ["inline; filename*=UTF-8''%1b%5b2J.pdf", "document.pdf"],
  ["inline", "document.pdf"],
  ["", "document.pdf"],
];

describe.each(bothClients())("the client for %s", (_language, call) => {
  const render = (url: string, options: Omit<CallOptions, "url"> = {}) =>
    call("render", { url, checkBeforeSending: false, ...options });

  it("tells of each wait: no slot is free until Retry-After is over, or the connection broke", async () => {
    const { url } = await startScript(full(0), breakConnection, sendPdf);
    const { result, events } = await render(url);
    expect(result).toMatchObject({ ok: true, content: WHOLE_PDF, filename: "document.pdf" });
    expect(events).toMatchObject([
      { attempt: 1, waitSeconds: 0, reason: { code: "render_queue_full" } },
      { attempt: 2, waitSeconds: 1, reason: { error: "ServiceUnreachableError" } },
    ]);
  });

  it.each(ASKED)("asks %s", async (_what, behaviours, requests, result) => {
    const server = await startScript(...behaviours);
    expect((await render(server.url, { maxAttempts: 3 })).result).toMatchObject(result);
    expect(server.requests).toHaveLength(requests);
  });

  it("gives up after the last attempt, and says how often and how long it has tried", async () => {
    const url = `http://${LOOPBACK}:${await takeFreePort()}`;
    const { result, events } = await render(`${url}/path`, { maxAttempts: 2 });
    const details = { url, reason: "refused", status: null, attempts: 2 };
    expect(result).toMatchObject({ error: "ServiceUnreachableError", ...details });
    expect(result.elapsedSeconds).toBeGreaterThan(0.4);
    expect(result.message).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+ cannot be reached: the connection was refused \(ECONNREFUSED\)\. Tried 2 times in \d+\.\d s\.$/,
    );
    expect(events).toHaveLength(1);
  });

  it.each(UNREACHABLE)(
    "names the service and why it cannot be reached, and tries again what may pass: %s",
    async (...row) => {
      const [reason, words, start] = row;
      const url = await start();
      const { result, events } = await render(url, { maxAttempts: 2 });
      const isPermanent = reason !== "connection_broken";
      const attempts = isPermanent ? 1 : 2;
      expect(result).toMatchObject({ error: "ServiceUnreachableError", reason, url, attempts, isPermanent });
      expect(result.message).toMatch(words);
      expect(result.message).toContain(url);
      expect(events).toHaveLength(attempts - 1);
    },
  );

  it.each(SILENT)("gives up when a service goes silent %s, and closes the connection", async (_when, behaviour) => {
    const closed = Promise.withResolvers<void>();
    const { url, requests } = await startScript((response) => {
      response.on("close", closed.resolve);
      behaviour(response);
    });
    const { result } = await render(url, { maxAttempts: 1, silenceTimeoutSeconds: 0.5 });
    const message = `${url} does not answer: nothing has come for 0.5 s.`;
    expect(result).toMatchObject({ error: "ServiceUnreachableError", reason: "no_answer", message });
    // On a busy machine it may not have arrived within this time.
    if (requests.length > 0) await closed.promise;
  });

  it.each([408, 429, 500, 502, 503, 504, 520, 524])(
    "takes a gateway's %i for a service that cannot be reached",
    async (status) => {
      const { url } = await startScript(gateway(status));
      expect((await render(url, { maxAttempts: 1 })).result).toMatchObject({
        error: "ServiceUnreachableError",
        reason: "gateway",
        message: `A gateway in front of the service at ${url} answered ${status}.`,
        status,
      });
    },
  );

  it.each(NOT_THE_SERVICE)("fails at what is not of the service, and does not ask again: %s", async (...row) => {
    const [, behaviour, status] = row;
    const server = await startScript(behaviour);
    const error = "UnexpectedResponseError";
    expect((await render(server.url)).result).toMatchObject({ error, status });
    expect((await call("constraints", { url: server.url })).result).toMatchObject({ error });
    expect(server.requests).toHaveLength(2);
  });

  it("never sends the token to where a redirect leads", async () => {
    const other = await startScript(sendPdf);
    const server = await startScript(answer(307, { Location: other.url.replace(LOOPBACK, "localhost") }));
    expect((await render(server.url)).result.message).toContain("redirects");
    expect([server.requests.length, other.requests.length]).toEqual([1, 0]);
  });

  it.each(HOSTILE_ANSWERS)("says that it is not the service: %s", async (_what, behaviour) => {
    const server = await startScriptedService(behaviour, LOW_LIMITS);
    expect((await call("render", { url: server.url })).result).toMatchObject({ error: "UnexpectedResponseError" });
    expect(server.bodies).toHaveLength(1);
    expect(server.sentBytes()).toBeLessThan(MAX_SENT_BYTES);
  });

  it.each(BROKEN_ANSWERS)("says that the connection broke: %s", async (_what, behaviour) => {
    const { url } = await startScriptedService(behaviour, LOW_LIMITS);
    const { result } = await call("render", { url, maxAttempts: 1 });
    expect(result).toMatchObject({ error: "ServiceUnreachableError" });
  });

  it.each(HOSTILE_DELAYS)("waits a bounded time if it is asked to wait %d s", async (asked, seconds) => {
    const server = await startScriptedService(full(asked), LOW_LIMITS);
    const { result } = await call("render", { url: server.url });
    expect(result).toMatchObject({
      ok: false,
      problem: { code: "render_queue_full", context: { retry_after: asked } },
    });
    // None of five attempts begins later than a minute after the first.
    expect(server.bodies).toHaveLength(seconds > 60 ? 1 : 5);
  });

  it("renders unchecked if the constraints cannot be fetched", async () => {
    const server = await startScript(answer(503, { "Content-Type": "text/plain" }), sendPdf);
    expect((await call("render", { url: server.url })).result).toMatchObject({ ok: true });
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  });

  it.each(FILE_NAMES)("takes the name of a file from the field %s: %s", async (field, filename) => {
    const { url } = await startScript(answer(200, { ...PDF, "Content-Disposition": field }, WHOLE_PDF));
    expect((await render(url)).result).toMatchObject({ filename, requestId: null });
  });

  it("asks below the path of its URL, without its query", async () => {
    const server = await startScript(sendPdf);
    for (const path of ["documents", "documents/", "documents?key=1#top"]) {
      await render(`${server.url}/${path}`);
      expect(server.requests.at(-1)?.url).toBe("/documents/v1/render");
    }
    const length = { "content-type": "application/json", "content-length": "14" };
    expect(server.requests.at(-1)?.headers).toMatchObject({ "x-service-api-token": API_TOKEN, ...length });
  });
});
