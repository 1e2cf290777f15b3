/** Sends requests to the Worker under test, and checks problems. */
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

/** Expects a response to be this problem, with an `instance` at the address that the client requested. */
export async function expectProblem(answer: Response, code: ContractCode): Promise<ReceivedProblem> {
  const problem = await expectContractProblem(answer, code);
  expect(new URL(problem.instance).origin).toBe(BASE_URL);
  return problem;
}
