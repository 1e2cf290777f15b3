/** The edge's routes, inside workerd: what is open, what is protected, and the problems of everything else. */
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { STATIC_DOCUMENTS } from "../../rules/constraints.ts";
import { API_TOKEN } from "../tokens.ts";

const BASE_URL = "https://render.example";

function send(path: string, init: RequestInit = {}): Promise<Response> {
  return exports.default.fetch(new Request(`${BASE_URL}${path}`, init));
}

describe("open routes", () => {
  it("answers /health with strings only", async () => {
    const answer = await send("/health");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("application/json");
    const members = Object.values(await answer.json<Record<string, unknown>>());
    expect(members.every((member) => typeof member === "string")).toBe(true);
  });

  it.each(Object.entries(STATIC_DOCUMENTS))("serves /%s without a token, as generated", async (name, document) => {
    const answer = await send(`/${name}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("application/json");
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(document)));
  });
});

describe("protected routes", () => {
  it.each([
    ["GET", "/v1/constraints"],
    ["POST", "/v1/render"],
  ])("refuses %s %s without a token", async (method, path) => {
    const answer = await send(path, { method });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: "forbidden", origin: "request", context: {} });
  });

  it("accepts the token", async () => {
    const answer = await send("/v1/constraints", { headers: { "X-Service-Api-Token": API_TOKEN } });
    expect(answer.status).toBe(200);
  });
});
