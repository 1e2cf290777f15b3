/** What the edge makes of the documents of its backends, and of backends that do not answer as they should; and `security.txt`. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { shareCapabilities } from "../../../edge/gathered/common-capabilities.ts";
import type { SharedAnswer } from "../../../edge/gathered/shared-answer.ts";
import { toBackendAnswer } from "../../../edge/platform/cloudflare/backend.ts";
import app from "../../../edge/platform/cloudflare/worker.ts";
import type { Backend } from "../../../edge/platform/platform.ts";
import {
  CAPABILITIES_PATH,
  type Capabilities,
  capabilitiesOf,
  MAX_CAPABILITIES_BYTES,
} from "../../../protocol/capabilities.ts";
import { BASE_URL, expectProblem, send } from "../send.ts";

const MINUTE = 60_000;
const pack = (name: string) => ({ namespace: "preview", name, version: "1.0.0" });
const WITH = (...names: string[]) => capabilitiesOf("0.15.1", [], names.map(pack));

interface FakeBackend extends Backend {
  answer: () => Response | Promise<Response>;
  requests: number;
}

function fakeBackend(name: string, capabilities: Capabilities): FakeBackend {
  const fake: FakeBackend = {
    name,
    answer: () => Response.json(capabilities),
    requests: 0,
    send: async ({ path }) => {
      expect(path).toBe(CAPABILITIES_PATH);
      fake.requests++;
      return toBackendAnswer(await fake.answer());
    },
  };
  return fake;
}

const DOWN = () => Promise.reject(new Error("connection refused"));

let now: number;
let warnings: unknown[];

beforeEach(() => {
  now = performance.now();
  warnings = [];
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const share = (...backends: Backend[]) => shareCapabilities({ backends }, (line) => void warnings.push(line));

async function packagesOf(capabilities: SharedAnswer<Capabilities | null>): Promise<string[] | null> {
  const document = await capabilities.get({ whenClientLeaves: () => {}, inBackground: () => {} });
  return document?.packages.map(({ name }) => name) ?? null;
}

describe("the document of the edge", () => {
  it("may be kept for a minute, and its entity tag is that of its content", async () => {
    const answerWith = async (capabilities: Capabilities) => {
      vi.stubGlobal("fetch", async () => Response.json(capabilities));
      const request = new Request(`${BASE_URL}${CAPABILITIES_PATH}`);
      return app.fetch(request, { ...env }, createExecutionContext());
    };
    const { headers } = await answerWith(WITH("chart"));
    const etag = headers.get("ETag");
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "public, max-age=60",
      "content-type": "application/json",
      etag: expect.stringMatching(/^"[^"]+"$/),
    });
    expect((await answerWith(WITH("chart"))).headers.get("ETag")).toBe(etag);
    expect((await answerWith(WITH("letter"))).headers.get("ETag")).not.toBe(etag);
  });

  it("has what all backends have in common, is kept for a minute, and the log names the rest once", async () => {
    const one = fakeBackend("a", WITH("chart", "letter"));
    const other = fakeBackend("b", WITH("chart", "axes"));
    const capabilities = share(one, other);
    for (const [passed, requests] of [
      [0, 1],
      [MINUTE - 1, 1],
      [1, 2],
    ] as const) {
      now += passed;
      expect(await packagesOf(capabilities)).toEqual(["chart"]);
      expect([one.requests, other.requests]).toEqual([requests, requests]);
    }
    expect(warnings).toEqual([
      {
        message: "the backends do not have the same capabilities",
        origins: ["a", "b"],
        notEverywhere: ["@preview/axes:1.0.0", "@preview/letter:1.0.0"],
        notEverywhereCount: 2,
      },
    ]);
    other.answer = one.answer;
    now += 2 * MINUTE;
    expect(await packagesOf(capabilities)).toEqual(["chart", "letter"]);
    expect(warnings).toHaveLength(1);
  });

  it("names twenty differences and gives the number of all", async () => {
    const many = Array.from({ length: 30 }, (_, index) => `p${index}`);
    await packagesOf(share(fakeBackend("a", WITH()), fakeBackend("b", WITH(...many))));
    expect(warnings).toMatchObject([{ notEverywhereCount: 30 }]);
    expect(warnings).toHaveProperty("0.notEverywhere.length", 20);
  });
});

describe("a backend that does not answer", () => {
  it("is represented by its last document for an hour, then not at all", async () => {
    const one = fakeBackend("a", WITH("chart", "letter"));
    const other = fakeBackend("b", WITH("chart"));
    const capabilities = share(one, other);
    expect(await packagesOf(capabilities)).toEqual(["chart"]);
    other.answer = DOWN;
    now += 60 * MINUTE;
    expect(await packagesOf(capabilities)).toEqual(["chart"]);
    now += MINUTE;
    expect(await packagesOf(capabilities)).toEqual(["chart", "letter"]);
    other.answer = () => Response.json(WITH("chart"));
    now += 5000;
    expect(await packagesOf(capabilities)).toEqual(["chart"]);
  });

  it("is asked again after five seconds, and does not hold up the others", async () => {
    const one = fakeBackend("a", WITH("chart"));
    const other = fakeBackend("b", WITH());
    other.answer = DOWN;
    const capabilities = share(one, other);
    expect(await packagesOf(capabilities)).toEqual(["chart"]);
    now += 4999;
    expect(await packagesOf(capabilities)).toEqual(["chart"]);
    expect(other.requests).toBe(1);
    other.answer = () => Response.json(WITH());
    now += 1;
    expect(await packagesOf(capabilities)).toEqual([]);
  });
});

describe("an answer that is not a document", () => {
  const valid = JSON.stringify(WITH("letter"));
  it.each<[string, () => Response | Promise<Response>]>([
    ["no JSON", () => new Response("garbage")],
    ["another version", () => Response.json({ ...WITH(), capabilities_version: 2 })],
    ["no body", () => new Response(null)],
    ["one byte too many", () => new Response(valid.padEnd(MAX_CAPABILITIES_BYTES + 1))],
  ])("counts as none: %s", async (_what, answer) => {
    const one = fakeBackend("a", WITH("chart"));
    const other = fakeBackend("b", WITH());
    other.answer = answer;
    expect(await packagesOf(share(one, other))).toEqual(["chart"]);
  });

  it("is distinguished from a document of exactly the size limit", async () => {
    const one = fakeBackend("a", WITH());
    one.answer = () => new Response(valid.padEnd(MAX_CAPABILITIES_BYTES));
    expect(await packagesOf(share(one))).toEqual(["letter"]);
  });
});

/** By RFC 9116. */
describe("/.well-known/security.txt", () => {
  const PATH = "/.well-known/security.txt";
  const CONTACTS = ["mailto:security@render.example", "https://render.example/security"];

  const SETTINGS = { ...env, SERVICE_SECURITY_CONTACT: CONTACTS.join(" ") };
  const ask = (method = "GET") => app.fetch(new Request(`${BASE_URL}${PATH}`, { method }), SETTINGS);

  it("names the operator's contacts in their order, and holds for 90 days", async () => {
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ now: new Date("2026-11-28T09:00:00Z"), toFake: ["Date"] });
    const answer = await ask();
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "text/plain; charset=utf-8"]);
    const [first, second] = CONTACTS;
    expect(await answer.text()).toBe(`Contact: ${first}\nContact: ${second}\nExpires: 2027-02-26T00:00:00Z\n`);
  });

  it("takes only GET", async () => {
    const answer = await ask("POST");
    expect(answer.headers.get("Allow")).toBe("GET, HEAD, OPTIONS");
    await expectProblem(answer, "method_not_allowed");
  });

  it("is not there without a contact", async () => {
    await expectProblem(await send(PATH), "not_found");
    await expectProblem(await send(PATH, { method: "POST" }), "not_found");
  });
});
