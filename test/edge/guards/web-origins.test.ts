/** Host names, and pages of other origins (CORS), inside workerd: what is served, and what a browser is told of it. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import app from "../../../edge/platform/cloudflare/worker.ts";
import { readHosts } from "../../../edge/settings.ts";
import { SettingError } from "../../../rules/settings.ts";
import { expectProblem as expectContractProblem } from "../../support/problems.ts";
import { API_TOKEN } from "../../support/tokens.ts";
import { BASE_URL, expectProblem } from "../send.ts";

const ORIGIN = "https://app.example";
const LISTED = { ...env, SERVICE_CORS_ORIGINS: `http://localhost:5173, ${ORIGIN}` };
const ONE = { ...env, SERVICE_CORS_ORIGINS: ORIGIN };
const ALL = { ...env, SERVICE_CORS_ORIGINS: "*" };

interface Call {
  readonly settings?: object;
  readonly method?: string;
  readonly origin?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

function send(path: string, { settings = LISTED, method = "GET", origin = ORIGIN, headers = {} }: Call = {}) {
  const fields = { ...(origin !== null && { Origin: origin }), ...headers };
  return app.fetch(new Request(`${BASE_URL}${path}`, { method, headers: fields }), settings);
}

const preflight = (path: string, method: string, call: Call = {}) =>
  send(path, {
    ...call,
    method: "OPTIONS",
    headers: {
      "Access-Control-Request-Method": method,
      "Access-Control-Request-Headers": "content-type,x-service-api-token",
    },
  });

const list = (answer: Response, name: string) => (answer.headers.get(name) ?? "").split(/, ?/).filter(Boolean);
const corsFields = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith("access-control-"));

const WITH_TOKEN = { "X-Service-Api-Token": API_TOKEN };

/** An answer of each kind, with its status. */
const ANSWERS: readonly (readonly [status: number, method: string, path: string, headers: Record<string, string>])[] = [
  [200, "GET", "/v1/constraints", WITH_TOKEN],
  [304, "GET", "/v1/constraints", { ...WITH_TOKEN, "If-None-Match": "*" }],
  [403, "GET", "/v1/constraints", {}],
  [403, "POST", "/v1/render", {}],
  [400, "POST", "/v1/render", WITH_TOKEN],
  [405, "GET", "/v1/render", {}],
  [404, "GET", "/nowhere", {}],
  [200, "GET", "/health", {}],
  [200, "HEAD", "/health", {}],
  [200, "GET", "/metrics", {}],
  [200, "GET", "/openapi.json", {}],
  [200, "GET", "/error-codes.json", {}],
  [200, "GET", "/", {}],
];

it("without the setting, a preflight request is answered like any OPTIONS", async () => {
  const answer = await preflight("/v1/render", "POST", { settings: env });
  expect([answer.status, answer.headers.get("Allow"), corsFields(answer)]).toEqual([204, "POST, OPTIONS", []]);
});

describe("an origin of the list", () => {
  it.each(ANSWERS)(
    "may read every answer, but not without the setting: %i to %s %s",
    async (status, method, path, headers) => {
      const closed = await send(path, { settings: env, method, headers });
      expect([closed.status, corsFields(closed)]).toEqual([status, []]);
      expect(closed.headers.get("Vary") ?? "").not.toMatch(/origin/i);
      const answer = await send(path, { method, headers });
      expect([answer.status, answer.headers.get("Access-Control-Allow-Origin")]).toEqual([status, ORIGIN]);
      expect(list(answer, "Access-Control-Expose-Headers")).toEqual(
        expect.arrayContaining("X-Request-Id Retry-After Content-Disposition ETag Server-Timing Allow".split(" ")),
      );
      expect(list(answer, "Vary")).toContain("Origin");
      expect(answer.headers.get("Access-Control-Allow-Credentials")).toBeNull();
    },
  );

  it.each([
    ["/v1/render", "POST", "POST, OPTIONS"],
    ["/v1/constraints", "GET", "GET, HEAD, OPTIONS"],
    ["/openapi.json", "GET", "GET, HEAD, OPTIONS"],
  ])("may send what the route takes: %s", async (path, method, allowed) => {
    const answer = await preflight(path, method);
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    expect(answer.headers.get("Access-Control-Allow-Methods")).toBe(allowed);
    expect(answer.headers.get("Allow")).toBe(allowed);
    const fields = list(answer, "Access-Control-Allow-Headers").map((name) => name.toLowerCase());
    for (const name of ["x-service-api-token", "content-type", "if-none-match", "traceparent", "tracestate"]) {
      expect(fields).toContain(name);
    }
    expect(answer.headers.get("Access-Control-Max-Age")).toBe("7200");
    expect(list(answer, "Vary")).toContain("Origin");
    expect(answer.headers.get("Access-Control-Allow-Credentials")).toBeNull();
    expect(answer.headers.get("X-Request-Id")).not.toBeNull();
  });
});

describe("another origin", () => {
  it.each([
    "https://other.example",
    "https://app.example.evil.example",
    "https://sub.app.example",
    "http://app.example",
    "https://app.example:8443",
    "null",
    "",
    "*",
  ])("is not allowed: %j", async (origin) => {
    for (const settings of [LISTED, ONE]) {
      const call = { settings, origin };
      for (const answer of [await send("/health", call), await preflight("/v1/render", "POST", call)]) {
        expect(answer.ok).toBe(true);
        expect(answer.headers.get("Access-Control-Allow-Origin")).toBeNull();
        // What a cache keeps for one origin must not be given to another.
        expect(list(answer, "Vary")).toContain("Origin");
      }
    }
  });

  it("is allowed by an asterisk for every caller, so that caches need not distinguish", async () => {
    for (const origin of ["https://other.example", "null", null]) {
      const answer = await send("/health", { settings: ALL, origin });
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("*");
      expect(list(answer, "Vary")).not.toContain("Origin");
    }
    const answer = await preflight("/v1/render", "POST", { settings: ALL });
    expect([answer.status, answer.headers.get("Access-Control-Allow-Origin")]).toEqual([204, "*"]);
    expect(answer.headers.get("Access-Control-Allow-Credentials")).toBeNull();
  });
});

describe("OPTIONS", () => {
  it("that is not a preflight request is answered with the methods of the path", async () => {
    const answer = await send("/v1/render", { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("Allow")]).toEqual([204, "POST, OPTIONS"]);
    expect(answer.headers.get("Access-Control-Allow-Methods")).toBeNull();
  });

  it("is answered 404 if nothing is served, even as a preflight request", async () => {
    await expectProblem(await preflight("/nowhere", "GET"), "not_found");
    await expectProblem(
      await preflight("/metrics", "GET", { settings: { ...LISTED, SERVICE_METRICS_ACCESS: "off" } }),
      "not_found",
    );
  });
});

const HOSTS = { ...env, SERVICE_HOSTS: "127.0.0.1 localhost, [::1]" };
const visit = (url: string, settings: object = HOSTS) => app.fetch(new Request(url), settings);

describe("a deployment that names its hosts", () => {
  it.each(["http://127.0.0.1:8787", "http://localhost", "https://[::1]:1", "http://LOCALHOST:8787"])(
    "serves %s",
    async (origin) => {
      expect((await visit(`${origin}/health`)).status).toBe(200);
      expect((await visit(`${origin}/`)).status).toBe(200);
    },
  );

  it.each([
    "http://evil.example:8787",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://127.0.0.2",
    "http://localhost.",
  ])("serves nothing but /health under %s, and says what to do", async (origin) => {
    expect((await visit(`${origin}/health`)).status).toBe(200);
    expect((await visit(`${origin}/%68ealth`)).status).toBe(403);
    for (const path of ["/", "/metrics", "/v1/constraints", "/nothing"]) {
      const { detail } = await expectContractProblem(await visit(`${origin}${path}`), "forbidden");
      expect(detail).toContain("SERVICE_HOSTS");
    }
  });
});

it("a deployment that names none serves any", async () => {
  expect((await visit("http://render.example/health", env)).status).toBe(200);
});

it.each(["http://localhost", "localhost:8787", "LOCALHOST", "*", "a/b"])("%s is not the name of a host", (entry) => {
  expect(() => readHosts({ SERVICE_HOSTS: `localhost ${entry}` })).toThrow(SettingError);
});
