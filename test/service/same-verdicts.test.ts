/**
 * The edge and the backend validate by the same functions: each request that one rejects, the other rejects in the same
 * words. Only `instance` differs, which names where the request was received.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type ContractCode, expectProblem } from "../support/problems.ts";
import { renderInit } from "../support/test-backend.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { API_TOKEN } from "../support/tokens.ts";

const SETTINGS = {
  SERVICE_MAX_REQUEST_BODY_BYTES: "20000",
  SERVICE_MAX_TEMPLATE_SOURCE_BYTES: "1000",
  SERVICE_MAX_INLINE_FILE_BYTES: "500",
  SERVICE_MAX_STRING_BYTES: "200",
  SERVICE_MAX_INLINE_FILES: "3",
  SERVICE_MAX_OUTPUT_FILES: "5",
};

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ settings: SETTINGS });
  return () => service.stop();
});

const text = (content: string) => ({ encoding: "text", content });
const withFiles = (files: object) => ({ source: "x", files });
const withData = (data: unknown) => ({ source: "x", data });
const withOutput = (output: unknown) => ({ source: "x", output });
const bytes = (...values: number[]) => Uint8Array.from(values);
const encode = (body: string) => new TextEncoder().encode(body);

type Body = object | string | Uint8Array<ArrayBuffer>;

const REJECTED: readonly (readonly [what: string, code: ContractCode, body: Body])[] = [
  ["nothing", "invalid_request", ""],
  ["no JSON", "invalid_request", "source=x"],
  ["JSON that is cut off", "invalid_request", '{"source":"x"'],
  ["JSON and more", "invalid_request", '{"source":"x"} {}'],
  ["a trailing comma", "invalid_request", '{"source":"x",}'],
  ["no UTF-8", "invalid_request", bytes(...encode('{"source":"'), 0xff, ...encode('"}'))],
  ["UTF-16", "invalid_request", bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0)],
  ["a byte order mark", "invalid_request", '\ufeff{"source":"x"}'],
  ["an array", "invalid_request", "[]"],
  ["null", "invalid_request", "null"],
  ["no source", "invalid_request", {}],
  ["an empty source", "invalid_request", { source: "" }],
  ["a source that is a number", "invalid_request", { source: 1 }],
  ["an unknown field", "invalid_request", { source: "x", sources: "y" }],
  ["a field twice", "invalid_request", '{"source":"x","source":"y"}'],
  ["a field of odd characters", "invalid_request", '{"source":"x","\\ud800\\u202e<b>":1}'],
  ["a field with a very long name", "invalid_request", { source: "x", [`${"n".repeat(600)}é`]: 1 }],
  [
    "more errors than are listed",
    "invalid_request",
    Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, n])),
  ],
  ["a file without its content", "invalid_request", withFiles({ a: { encoding: "text" } })],
  ["a file of another encoding", "invalid_request", withFiles({ a: { encoding: "hex", content: "00" } })],
  ["data nested too deep", "invalid_request", `{"source":"x","data":${"[".repeat(128)}${"]".repeat(128)}}`],
  ["data with a number out of range", "invalid_request", '{"source":"x","data":{"a":[1e400]}}'],
  ["a number that Typst cannot read", "invalid_request", '{"source":"x","data":[1.7976931348623158e308]}'],
  [
    "an object that Typst would make a date of",
    "invalid_request",
    withData({ $__toml_private_datetime: "2020-01-01" }),
  ],
  ["data with a lone surrogate", "invalid_request", '{"source":"x","data":{"a":["\\udc00"]}}'],
  ["an output of null", "invalid_request", withOutput(null)],
  ["an option of another format", "invalid_request", withOutput({ format: "svg", ppi: 72 })],
  ["a resolution out of range", "invalid_request", withOutput({ format: "png", ppi: 301 })],
  ["a selection that is malformed", "invalid_request", withOutput({ pages: "1,,2" })],
  ["a selection that is too long", "invalid_request", withOutput({ pages: "1".repeat(257) })],
  ["a version that the standard forbids", "invalid_request", withOutput({ version: "1.4", standards: ["a-2b"] })],
  ["two PDF/A profiles", "invalid_request", withOutput({ standards: ["a-2b", "a-3b"] })],
  ["pages of a tagged document", "invalid_request", withOutput({ standards: ["ua-1"], pages: "1" })],
  ["pages without an archive", "invalid_request", withOutput({ format: "png", pages: "1" })],
  ["an unknown format", "unsupported_format", withOutput({ format: "html" })],
  ["a format of odd characters", "unsupported_format", '{"source":"x","output":{"format":"\\ud800\\u0000<b>"}}'],
  ["a key that climbs", "invalid_template_path", withFiles({ "../x": text("") })],
  ["a key beyond ASCII", "invalid_template_path", withFiles({ "é\u202e": text("") })],
  ["a key that is too long", "invalid_template_path", withFiles({ [`${"a".repeat(200)}/`.repeat(30)]: text("") })],
  ["broken Base64", "invalid_file_data", withFiles({ "a.png": { encoding: "base64", content: "AAA" } })],
  [
    "text with a lone surrogate",
    "invalid_file_data",
    '{"source":"x","files":{"a":{"encoding":"text","content":"\\ud800"}}}',
  ],
  ["a source with a lone surrogate", "invalid_file_data", '{"source":"\\ud800"}'],
  ["too many files", "invalid_file_data", withFiles({ a: text(""), b: text(""), c: text(""), d: text("") })],
  ["keys that differ in case alone", "invalid_file_data", withFiles({ "a.typ": text(""), "A.typ": text("") })],
  ["a key that is a folder too", "invalid_file_data", withFiles({ lib: text(""), "LIB/x": text("") })],
  ["a body over its limit", "request_too_large", "x".repeat(20_001)],
  ["a source over its limit", "template_source_too_large", { source: "é".repeat(501) }],
  ["a file over its limit", "template_file_too_large", withFiles({ "a/b": text("x".repeat(501)) })],
  [
    "a decoded file over its limit",
    "template_file_too_large",
    withFiles({ a: { encoding: "base64", content: Buffer.alloc(501).toString("base64") } }),
  ],
  ["a string over its limit", "string_too_large", withData({ list: [{ [`k${"é".repeat(90)}`]: "é".repeat(101) }] })],
  ["a key in data over its limit", "string_too_large", withData([{ ["k".repeat(201)]: 1 }])],
  ["too many pages", "page_selection_too_large", withOutput({ format: "svg", archive: "zip", pages: "1-6" })],
  [
    "too many pages for an archive, and a page beside it",
    "page_selection_too_large",
    withOutput({ format: "png", archive: "zip", pages: "1-6", page: 1 }),
  ],
  ["Base64 with line breaks", "invalid_file_data", withFiles({ a: { encoding: "base64", content: "QUJD\nQUJD\n" } })],
  ["a data: URL", "invalid_file_data", withFiles({ a: { encoding: "base64", content: "data:image/png;base64,QQ==" } })],
  ["a key with a space", "invalid_template_path", withFiles({ "my file.typ": text("") })],
];

interface Verdict {
  readonly answer: Response;
  /** The body without `instance`, otherwise byte for byte. */
  readonly text: string;
}

async function verdict(answer: Response): Promise<Verdict> {
  const body = await answer.clone().text();
  return { answer, text: body.replace(/"instance":"[^"]*"/, '"instance":""') };
}

async function bothVerdicts(body: Body, headers: Readonly<Record<string, string>> = {}): Promise<[Verdict, Verdict]> {
  const atBackend = await fetch(new URL("/v1/render", service.backend.url), renderInit(body, { headers }));
  const atEdge = await service.render(typeof body === "string" || body instanceof Uint8Array ? body : { ...body }, {
    headers,
  });
  return [await verdict(atEdge), await verdict(atBackend)];
}

async function expectSame(code: ContractCode, [edge, backend]: [Verdict, Verdict]): Promise<void> {
  expect(edge.text).toBe(backend.text);
  for (const { answer } of [edge, backend]) await expectProblem(answer, code);
}

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

  it("a wrong token, each its own", async () => {
    const headers = { "X-Service-Api-Token": "wrong", "X-Service-Backend-Token": API_TOKEN };
    await expectSame("forbidden", await bothVerdicts({ source: "x" }, headers));
  });
});

describe("the edge and the backend take the same", () => {
  it.each([
    ["a source at its limit", { source: "x".repeat(1000) }],
    ["files at their limits", withFiles({ a: text("x".repeat(500)), b: text(""), "c/d": text("") })],
    ["data at its limit", withData({ ["k".repeat(200)]: "é".repeat(100) })],
    ["data nested as deep as may be", `{"source":"x","data":${"[".repeat(127)}${"]".repeat(127)}}`],
    ["the largest double", '{"source":"#data.at(0)","data":[1.7976931348623157e308]}'],
    ["the reserved key with no date", withData({ $__toml_private_datetime: "soon" })],
    ["whitespace around everything", ' \n{ "source" : "x" }\t\r\n'],
    ["the pages of an archive at their limit", withOutput({ format: "svg", archive: "zip", pages: "1-5" })],
  ] as const)("%s", async (_what, body) => {
    const verdicts = await bothVerdicts(body);
    expect(verdicts.map(({ answer }) => answer.status)).toEqual([200, 200]);
  });
});
