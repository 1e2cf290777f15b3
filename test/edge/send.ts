/** Requests to the Worker under test, and the check of its problems. */
import { exports } from "cloudflare:workers";
import { expect } from "vitest";
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

/** Sends a render request with the right token and media type. */
export function sendRender(body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  return send("/v1/render", {
    method: "POST",
    headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json", ...headers },
    body,
  });
}

/** Expects that an answer is the problem of that code, and that its instance is a URL as the client knows the edge. */
export async function expectProblem(answer: Response, code: ContractCode): Promise<ReceivedProblem> {
  const problem = await expectContractProblem(answer, code);
  expect(new URL(problem.instance).origin).toBe(BASE_URL);
  return problem;
}
