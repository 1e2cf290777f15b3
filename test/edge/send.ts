/** Sends requests to the Worker under test, and checks problems. */
import { exports } from "cloudflare:workers";
import { expect } from "vitest";
import { type ContractCode, contractMembers, foreignMembers } from "../support/contract.ts";
import { API_TOKEN } from "../tokens.ts";

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

export interface ProblemBody {
  readonly code: string;
  readonly context: Record<string, unknown>;
  readonly [member: string]: unknown;
}

/** Expects a response to be this problem with exactly the members that the contract names, and returns its body. */
export async function expectProblem(answer: Response, code: ContractCode): Promise<ProblemBody> {
  expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  const body = await answer.json<ProblemBody>();
  expect(body).toEqual({
    ...contractMembers(code),
    detail: expect.stringMatching(/\S/),
    instance: expect.any(String),
    context: expect.any(Object),
  });
  expect(foreignMembers(code, body.context)).toEqual([]);
  expect(answer.status).toBe(body.status);
  expect(body.instance).toBe(
    `${BASE_URL}${new URL(String(body.instance)).pathname}#${answer.headers.get("X-Request-Id")}`,
  );
  return body;
}
