/** The client for Python: its verdicts are the service's, and it behaves like the one for TypeScript. */
import { createServer } from "node:https";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { PROBLEMS } from "../../../rules/problem.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";
import { makeCertificate } from "../../support/clients/certificate.ts";
import { hasPython, PythonDriver } from "../../support/clients/python-driver.ts";
import {
  answer,
  type Behaviour,
  broken,
  FILE_NAMES,
  failed,
  full,
  NOT_THE_SERVICE,
  PDF,
  PROBLEM,
  rendered,
  ScriptedAnswers,
  unknownProblem,
} from "../../support/clients/scripted-answers.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { lowLimits, mutatedBody, requestBody } from "../../support/rules/request-arbitraries.ts";
import { runs } from "../../support/rules/runs.ts";
import { validateFast } from "../../support/rules/verdicts.ts";
import { type SharedService, sharedService } from "../../support/service/test-service.ts";
import { API_TOKEN } from "../../support/tokens.ts";

/** A verdict of either side, without its prose. */
function bare(verdict: unknown): unknown {
  const { code, context } = Object(verdict ?? { code: null, context: {} });
  if (code === null) return null;
  const { errors, ...others } = context;
  if (errors === undefined) return { code, context };
  return {
    code,
    context: { ...others, errors: errors.map(({ loc, type }: { loc: unknown; type: unknown }) => ({ loc, type })) },
  };
}

describe.skipIf(!hasPython())("the Python client", () => {
  let driver: PythonDriver;

  beforeAll(() => {
    driver = new PythonDriver();
  });

  afterAll(() => driver?.stop());

  describe("comes to the verdict of the service", () => {
    const publish = (limits: Limits) => driver.ask({ do: "publish", document: constraintsDocument(limits) });

    it("on every published vector", async () => {
      expect(await publish(DEFAULT_LIMITS)).toEqual([]);
    });

    it.each([
      ["generated requests", requestBody],
      ["requests with bytes changed, added or taken out", mutatedBody],
    ])("on %s", async (_what, arbitrary) => {
      const BODIES_PER_LIMITS = 250;
      for (const limits of fc.sample(lowLimits, runs(8))) {
        await publish(limits);
        const bodies = fc.sample(arbitrary, BODIES_PER_LIMITS);
        const encoded = bodies.map((body) => Buffer.from(body).toString("base64"));
        const verdicts = await driver.ask({ do: "verdicts", bodies: encoded });
        if (!Array.isArray(verdicts)) throw new Error("no verdicts");
        for (const [index, body] of bodies.entries()) {
          const text = Buffer.from(body).toString("latin1");
          expect(bare(verdicts[index]), text).toEqual(bare(validateFast(body, limits)));
        }
      }
    });
  });

  it("names each problem that it finds as the catalogue does", async () => {
    const titles = await driver.ask({ do: "titles" });
    if (typeof titles !== "object" || titles === null) throw new Error("no titles");
    for (const [code, found] of Object.entries(titles)) {
      const { status, origin, title } = Object.entries(PROBLEMS).find(([known]) => known === code)?.[1] ?? {};
      expect(found, code).toEqual([status, origin, title]);
    }
  });

  /** A service with a certificate that nobody has signed. */
  async function startTls(): Promise<{ url: string }> {
    const certificate = makeCertificate({ fromDays: -1, toDays: 1 }, ["localhost"]);
    const server = createServer(certificate, (_, response) => response.end());
    const { port } = await listenOnLoopback(server);
    onTestFinished(() => closeServer(server));
    return { url: `https://localhost:${port}` };
  }

  const REQUEST = { source: "x" };

  const call = (...parameters: Parameters<PythonDriver["call"]>) => driver.call(...parameters);

  describe("with a service that answers by a script", () => {
    const server = new ScriptedAnswers();
    let url: URL;

    beforeEach(async () => {
      url = await server.start();
    });

    afterEach(() => server.stop());

    const render = (options: object = {}) =>
      call("render", { url: url.href, token: API_TOKEN, check_before_sending: false, ...options }, REQUEST);

    it("tells of each wait: no slot is free until Retry-After is over, or the connection broke", async () => {
      server.behaviours = [full(0), broken, rendered];
      const { result, events } = await render();
      expect(result).toMatchObject({ ok: true, content: "%PDF-", filename: "document.pdf" });
      expect(events).toMatchObject([
        { attempt: 1, wait_seconds: 0, reason: { code: "render_queue_full" } },
        { attempt: 2, wait_seconds: 1, reason: { error: "ServiceUnreachableError" } },
      ]);
    });

    const breaksOff: Behaviour = (response) => {
      response.writeHead(200, { ...PDF, "Content-Length": "1000" });
      response.write("%PDF-", () => response.destroy());
    };
    const redirect = answer(307, { Location: "http://localhost:1/" });
    const unknown = answer(403, PROBLEM, JSON.stringify(unknownProblem("request")));

    it.each<[what: string, behaviours: Behaviour[], requests: number, result: object]>([
      ["while no slot is free, as often as it may", [full(0)], 3, { problem: { context: { retry_after: 0 } } }],
      ["once if Retry-After is beyond the total time", [full(61)], 1, { problem: { request_id: "id" } }],
      ["once if rendering fails", [failed("render_failed", 500)], 1, { problem: { status: 500, origin: "service" } }],
      ["once if the service is unavailable", [failed("service_unavailable", 503)], 1, { checked_locally: false }],
      ["again if the file breaks off", [breaksOff, rendered], 2, { ok: true, content: "%PDF-" }],
      ["once if it meets a redirect", [redirect], 1, { message: expect.stringContaining("redirects") }],
      ["once if it does not know the problem", [unknown], 1, { problem: { context: { colour: "red" } } }],
    ])("asks %s", async (_what, behaviours, requests, result) => {
      server.behaviours = behaviours;
      expect((await render({ max_attempts: 3 })).result).toMatchObject(result);
      expect(server.requests).toHaveLength(requests);
    });

    it("raises after the last attempt, and says how often it has tried and how long", async () => {
      const refused = `http://${LOOPBACK}:${await takeFreePort()}`;
      const { result, events } = await render({ url: `${refused}/path`, max_attempts: 2 });
      expect(result).toMatchObject({
        error: "ServiceUnreachableError",
        url: refused,
        reason: "refused",
        status: null,
        attempts: 2,
      });
      expect(result.elapsed_seconds).toBeGreaterThan(0.4);
      expect(result.message).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+ cannot be reached: the connection was refused \(ECONNREFUSED\)\. Tried 2 times in \d+\.\d s\.$/,
      );
      expect(events).toHaveLength(1);
    });

    it.each<[reason: string, words: RegExp, behaviour: Behaviour, options: () => object | Promise<object>]>([
      [
        "name_not_found",
        /: the host name was not found \(.+\)\.$/,
        broken,
        () => ({ url: "http://no-such-host.invalid" }),
      ],
      ["certificate", /: its certificate is not accepted \(self.signed certificate\)\.$/, rendered, startTls],
      ["timed_out", /: it did not answer in time\.$/, () => {}, () => ({ silence_timeout_seconds: 0.2 })],
      ["connection_broken", /: the connection broke\.$/, broken, () => ({})],
      [
        "wrong_protocol",
        / \(WRONG_VERSION_NUMBER\)\.$/,
        rendered,
        () => ({ url: url.href.replace("http:", "https:") }),
      ],
    ])("names the service and the reason if it cannot be reached: %s", async (reason, words, behaviour, options) => {
      server.behaviours = [behaviour];
      const chosen = { url: url.href, max_attempts: 1, ...(await options()) };
      const { result } = await render(chosen);
      expect(result).toMatchObject({ error: "ServiceUnreachableError", reason, url: chosen.url.replace(/\/$/, "") });
      expect(result.message).toMatch(words);
      expect(result.message).toContain(result.url);
    });

    it.each([429, 502, 503, 504])("treats a gateway's %i as a service that cannot be reached", async (status) => {
      server.behaviours = [answer(status, { "Content-Type": "text/html" })];
      expect((await render({ max_attempts: 1 })).result).toMatchObject({
        error: "ServiceUnreachableError",
        reason: "gateway",
        message: `A gateway in front of the service at ${url.origin} answered ${status}.`,
        status,
      });
    });

    it.each(NOT_THE_SERVICE)(
      "raises at a response that did not come from the service, and does not ask again: %s",
      async (_what, behaviour, status) => {
        server.behaviours = [behaviour];
        expect((await render()).result).toMatchObject({ error: "UnexpectedResponseError", status });
        expect((await call("constraints", { url: url.href, token: API_TOKEN })).result).toMatchObject({
          error: "UnexpectedResponseError",
        });
        expect(server.requests).toHaveLength(2);
      },
    );

    it("renders unchecked if the constraints cannot be fetched", async () => {
      server.behaviours = [answer(503, { "Content-Type": "text/plain" }), rendered];
      expect((await render({ check_before_sending: true })).result).toMatchObject({ ok: true });
      expect(server.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
    });

    it.each(FILE_NAMES)("takes the name of a file from the field %s: %s", async (field, filename) => {
      server.behaviours = [answer(200, { ...PDF, "Content-Disposition": field }, "%PDF-")];
      expect((await render()).result).toMatchObject({ filename, request_id: null });
    });

    it("asks below the path of its URL, without its query", async () => {
      server.behaviours = [rendered];
      for (const path of ["documents", "documents/", "documents?key=1#top"]) {
        await render({ url: new URL(path, url).href });
        expect(server.requests.at(-1)?.url).toBe("/documents/v1/render");
      }
      expect(server.requests.at(-1)?.headers).toMatchObject({
        "x-service-api-token": API_TOKEN,
        "content-type": "application/json",
        "content-length": "14",
      });
    });

    it.each([
      ["a relative URL", { url: "/v1" }],
      ["another scheme", { url: "ftp://render.example" }],
      ["a URL with a password", { url: "https://me:secret@render.example" }],
      ["an empty token", { token: "" }],
      ["a token with a line feed", { token: "secret\n" }],
      ["no attempt", { max_attempts: 0 }],
      ["a negative time", { max_total_seconds: -1 }],
    ])("rejects at once an option that cannot be used: %s", async (_what, options) => {
      const { result } = await render(options);
      expect(result).toMatchObject({ error: "ValueError", message: expect.not.stringContaining("secret") });
    });
  });

  describe("with the running service", () => {
    let service: SharedService;

    beforeAll(async () => {
      service = await sharedService({ SERVICE_MAX_INLINE_FILES: "2" });
    });

    const options = () => ({ url: service.edge.url.href, token: API_TOKEN });

    it("renders, with integers that a double cannot hold", async () => {
      const source = '#assert.eq(str(data.id), "9007199254740993")';
      const request = `{"source":${JSON.stringify(source)},"data":{"id":9007199254740993},"output":{"filename":"Grüße"}}`;
      const { result } = await call("render", { ...options(), json: request });
      expect(result).toMatchObject({ ok: true, content_type: "application/pdf", filename: "Grüße.pdf" });
      expect(String(result.content).slice(0, 5)).toBe("%PDF-");
    });

    it("refuses what the rules reject, without sending it, by the limits of the deployment", async () => {
      const files = Object.fromEntries(["a", "b", "c"].map((key) => [key, { encoding: "text", content: "" }]));
      const request = { source: "x", files };
      const refused = { code: "invalid_file_data", status: 400, context: { count: 3, limit: 2 }, request_id: null };
      expect((await call("render", options(), request)).result).toMatchObject({
        checked_locally: true,
        problem: refused,
      });
      expect((await call("check", options(), request)).result).toMatchObject({ verdict: "refused", problem: refused });
      expect((await call("check", options(), REQUEST)).result).toMatchObject({ verdict: "accepted" });
    });

    it("reports a wrong token, for renders, checks and constraints alike", async () => {
      const wrong = { ...options(), token: "wrong" };
      expect((await call("render", wrong, REQUEST)).result).toMatchObject({ problem: { code: "forbidden" } });
      expect((await call("check", wrong, REQUEST)).result).toMatchObject({ verdict: "unavailable" });
      expect((await call("constraints", wrong)).result).toMatchObject({ code: "forbidden", status: 403 });
    });
  });
});
