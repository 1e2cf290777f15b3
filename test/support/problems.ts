/**
 * The check of a problem as a client receives it, against docs/api.md#codes. Also used inside workerd,
 * so it imports nothing from Node.
 */
import { expect } from "vitest";
import { type ContractCode, contractMembers, foreignMembers } from "./contract.ts";

export type { ContractCode };

/** An error body as received. */
export interface ReceivedProblem {
  readonly code: string;
  readonly origin: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly context: Readonly<Record<string, unknown>>;
}

/** Expects an answer to be a problem with this code and with all members and headers of a problem. */
export async function expectProblem(answer: Response, code: ContractCode): Promise<ReceivedProblem> {
  const text = await answer.text();
  const body: ReceivedProblem = JSON.parse(text);
  expect(body, text).toEqual({
    ...contractMembers(code),
    detail: expect.stringMatching(/\S/),
    instance: expect.any(String),
    context: expect.any(Object),
  });
  expect(foreignMembers(code, body.context)).toEqual([]);
  expect(answer.status).toBe(body.status);
  expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
  const { protocol, search, hash } = new URL(body.instance);
  expect(protocol).toMatch(/^https?:$/);
  expect(search).toBe("");
  expect(hash).toBe(`#${answer.headers.get("X-Request-Id")}`);
  return body;
}
