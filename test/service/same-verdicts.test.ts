/**
 * The edge and the backend validate by the same functions: each request that one rejects, the other rejects in the same
 * words. Only `instance` differs, which names where the request was received.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type RenderBody, renderInit } from "../support/backend/test-backend.ts";
import { type ContractCode, expectProblem } from "../support/problems.ts";
import { EDGE_PLATFORMS } from "../support/service/service-parts.ts";
import { type SharedService, sharedService } from "../support/service/test-service.ts";
import { API_TOKEN } from "../support/tokens.ts";

const SETTINGS = {
  SERVICE_MAX_REQUEST_BODY_BYTES: "20000",
  SERVICE_MAX_TEMPLATE_SOURCE_BYTES: "1000",
  SERVICE_MAX_STRING_BYTES: "200",
};

let service: SharedService;

const text = (content: string) => ({ encoding: "text", content });
const withFiles = (files: object) => ({ source: "x", files });
const withData = (data: unknown) => ({ source: "x", data });
const bytes = (...values: number[]) => Uint8Array.from(values);
const encode = (body: string) => new TextEncoder().encode(body);

/**
 * One of each code, and what either platform could decode, quote or measure in its own way. What the rules say is
 * tested with the rules.
 */
const REJECTED: readonly (readonly [what: string, code: ContractCode, body: RenderBody])[] = [
  ["an empty body", "invalid_request", ""],
  ["a body that is not UTF-8", "invalid_request", bytes(...encode('{"source":"'), 0xff, ...encode('"}'))],
  ["a body in UTF-16", "invalid_request", bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0)],
  ["a field of odd characters", "invalid_request", '{"source":"x","\\ud800\\u202e<b>":1}'],
  ["a field with a very long name", "invalid_request", { source: "x", [`${"n".repeat(600)}é`]: 1 }],
  ["a format of odd characters", "unsupported_format", '{"source":"x","output":{"format":"\\ud800\\u0000<b>"}}'],
  ["a key beyond ASCII", "invalid_template_path", withFiles({ "é\u202e": text("") })],
  ["a source with a lone surrogate", "invalid_file_data", '{"source":"\\ud800"}'],
  ["a body over its limit", "request_too_large", "x".repeat(20_001)],
  ["a source over its limit", "template_source_too_large", { source: "é".repeat(501) }],
  ["a string over its limit", "string_too_large", withData({ list: [{ [`k${"é".repeat(90)}`]: "é".repeat(101) }] })],
];

type Verdict = Awaited<ReturnType<typeof verdict>>;

/** An answer, and its body without `instance`, otherwise byte for byte. */
async function verdict(answer: Response) {
  const body = await answer.clone().text();
  return { answer, text: body.replace(/"instance":"[^"]*"/, '"instance":""') };
}

async function bothVerdicts(
  body: RenderBody,
  headers: Readonly<Record<string, string>> = {},
): Promise<[Verdict, Verdict]> {
  const atBackend = await fetch(new URL("/v1/render", service.backend.url), renderInit(body, { headers }));
  const atEdge = await service.render(body, { headers });
  return [await verdict(atEdge), await verdict(atBackend)];
}

async function expectSame(code: ContractCode, [edge, backend]: [Verdict, Verdict]): Promise<void> {
  expect(edge.text).toBe(backend.text);
  for (const { answer } of [edge, backend]) await expectProblem(answer, code);
}

describe.each(EDGE_PLATFORMS)("with the edge on %s", (platform) => {
  beforeAll(async () => {
    service = await sharedService(SETTINGS, platform);
  });

  describe("the edge and the backend reject in the same words", () => {
    it.each(REJECTED)("%s: %s", async (_what, code, body) => {
      await expectSame(code, await bothVerdicts(body));
    });

    it.each(["text/plain", "application/json; charset=utf-16", "json"])("a body that is %s", async (type) => {
      await expectSame("invalid_request", await bothVerdicts({ source: "x" }, { "Content-Type": type }));
    });

    it("a body with a content coding", async () => {
      await expectSame("invalid_request", await bothVerdicts({ source: "x" }, { "Content-Encoding": "br" }));
    });

    it("a wrong token, except that each names its own header field", async () => {
      const headers = { "X-Service-Api-Token": "wrong", "X-Service-Backend-Token": API_TOKEN };
      const [edge, backend] = await bothVerdicts({ source: "x" }, headers);
      await expectSame("forbidden", [{ ...edge, text: edge.text.replace("-Api-", "-Backend-") }, backend]);
    });
  });
});
