/** Sends requests to the Worker under test, stands in for its backend, and checks problems. */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, vi } from "vitest";
import app from "../../edge/platform/cloudflare/worker.ts";
import {
  type ContractCode,
  expectProblem as expectContractProblem,
  type ReceivedProblem,
} from "../support/problems.ts";
import { API_TOKEN } from "../support/tokens.ts";

export const BASE_URL = "https://render.example";

export function send(path: string, init: RequestInit = {}): Promise<Response> {
  return exports.default.fetch(new Request(`${BASE_URL}${path}`, init));
}

export function sendRender(body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  return send("/v1/render", {
    method: "POST",
    headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json", ...headers },
    body,
  });
}

/** A separate edge, with the state of a new isolate. */
export function newEdge(bindings: object = {}) {
  const environment = { ...env, SERVICE_LOG_REQUESTS: "object", ...bindings };
  const execution = createExecutionContext();
  const ask = async (path: string, init: RequestInit = {}) =>
    app.fetch(new Request(`${BASE_URL}${path}`, init), environment, execution);
  return {
    ask,
    render: (
      body: BodyInit = '{"source":"x"}',
      headers: Readonly<Record<string, string>> = {},
      init: RequestInit = {},
    ) => {
      const own = { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" };
      return ask("/v1/render", { method: "POST", headers: { ...own, ...headers }, body, ...init });
    },
    /** Waits for what goes on in the background. */
    settled: () => waitOnExecutionContext(execution),
  };
}

/** Answers in place of a backend, and keeps the requests that it gets. */
export function standInBackend(answer: () => Response) {
  const requests: { url: string; headers: Headers; body: string }[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const request = new Request(url, init);
    requests.push({ url: request.url, headers: request.headers, body: await request.text() });
    return answer();
  });
  return requests;
}

/** Expects a response to be this problem, with an `instance` at the address that the client requested. */
export async function expectProblem(answer: Response, code: ContractCode): Promise<ReceivedProblem> {
  const problem = await expectContractProblem(answer, code);
  expect(new URL(problem.instance).origin).toBe(BASE_URL);
  return problem;
}
