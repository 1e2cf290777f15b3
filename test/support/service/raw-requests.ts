/**
 * Requests as bytes on a connection, most of which no HTTP client would send, and what the edge answers to each. A row
 * has its name, the bytes, and a summary of the answers: status and code of each, in their order. What follows the bytes
 * on the connection is `FOLLOWING`, unless the client ends it or leaves.
 */
import { API_TOKEN } from "../tokens.ts";

export interface RawRequest {
  readonly name: string;
  /** Written one after another, with a pause in between. */
  readonly parts: readonly (string | Buffer)[];
  /** Another request comes on the same connection; the client sends no more, but reads; or it is gone. */
  readonly then: "next" | "ends" | "leaves";
  readonly answers: string;
}

/** It closes the connection, so that every row ends. */
export const FOLLOWING = "GET /health HTTP/1.1\r\nHost: next.example\r\nConnection: close\r\n\r\n";

const HOST = "Host: edge.example";
const TOKEN = `X-Service-Api-Token: ${API_TOKEN}`;
const JSON_TYPE = "Content-Type: application/json";
const CHUNKED = "Transfer-Encoding: chunked";
const SOURCE = '{"source":"x"}';
const LENGTH = `Content-Length: ${SOURCE.length}`;
const EXPECT = "Expect: 100-continue";

const head = (...lines: readonly string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const get = (target: string, ...fields: readonly string[]) => head(`GET ${target} HTTP/1.1`, HOST, ...fields);
const render = (...fields: readonly string[]) => head("POST /v1/render HTTP/1.1", HOST, TOKEN, JSON_TYPE, ...fields);
const whole = (...fields: readonly string[]) => render(LENGTH, ...fields) + SOURCE;
const chunk = (text: string, extension = "") => `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const LAST = "0\r\n\r\n";

type Row = readonly [answers: string, name: string, ...parts: readonly (string | Buffer)[]];

const rows = (then: RawRequest["then"], ...list: readonly Row[]): RawRequest[] =>
  list.map(([answers, name, ...parts]) => ({ name, parts, then, answers }));

/** The request line: methods, targets and versions. */
const LINES = rows(
  "next",
  ["200, 200", "a plain request", get("/health")],
  ["200, 200", "a percent-encoded letter in the path", get("/%68ealth")],
  ["404 not_found, 200", "dot segments", get("/v1/../health")],
  ["404 not_found, 200", "two slashes and a host", get("//other.example/health")],
  ["200, 200", "a fragment in the target", get("/health#top")],
  ["200, 200", "absolute-form", get("http://edge.example/health")],
  ["200, 200", "absolute-form with another host", get("http://other.example/health")],
  ["200, 200", "absolute-form without a path", get("http://edge.example")],
  ["200, 200", "absolute-form of another scheme", get("ftp://edge.example/health")],
  ["200, 200", "a target that is no path", get("health")],
  ["404 not_found, 200", "an asterisk for GET", get("*")],
  ["404 not_found, 200", "OPTIONS of everything", head("OPTIONS * HTTP/1.1", HOST)],
  ["204, 200", "OPTIONS of a path", head("OPTIONS /v1/render HTTP/1.1", HOST)],
  ["200, 200", "HEAD", head("HEAD /health HTTP/1.1", HOST)],
  ["405, 200", "HEAD of a render", head("HEAD /v1/render HTTP/1.1", HOST, TOKEN)],
  ["405 method_not_allowed, 200", "TRACE", head("TRACE /health HTTP/1.1", HOST)],
  ["500", "CONNECT to an authority", head("CONNECT edge.example:443 HTTP/1.1", HOST)],
  ["405 method_not_allowed, 200", "a method of WebDAV", head("PROPFIND / HTTP/1.1", HOST)],
  ["501", "a method that nobody knows", head("BREW /health HTTP/1.1", HOST)],
  ["200", "HTTP/1.0", head("GET /health HTTP/1.0", HOST)],
  ["200, 200", "HTTP/1.0 that keeps the connection", head("GET /health HTTP/1.0", HOST, "Connection: keep-alive")],
  ["200, 200", "line feeds alone", get("/health").replaceAll("\r\n", "\n")],
  ["400", "bytes that are no HTTP", Buffer.from([0x16, 3, 1, 0, 0xa5, 1, 0, 0, 0xa1, 3, 3, 13, 10, 13, 10])],
  ["414", "a target of 100,000 characters", get(`/${"a".repeat(100_000)}`)],
);

/** Header fields. */
const FIELDS = rows(
  "next",
  ["400, 200", "no Host", head("GET /health HTTP/1.1")],
  ["400 invalid_request, 200", "two different Hosts", get("/health", "Host: other.example")],
  ["400 invalid_request, 200", "a Host with a path", head("GET /health HTTP/1.1", "Host: edge.example/x")],
  ["200, 200", "a Host of IPv6", head("GET /health HTTP/1.1", "Host: [::1]:80")],
  ["400", "a space before the colon", get("/health", "X-A : b")],
  ["400", "obs-fold in a token", render(LENGTH).replace(TOKEN, "X-Service-Api-Token:\r\n test") + SOURCE],
  ["400", "a carriage return in a value", get("/health", "X-A: a\rb")],
  ["200, 200", "a value of 200,000 characters", get("/health", `X-A: ${"a".repeat(200_000)}`)],
  ["200, 200", "a thousand fields", get("/health", ...Array.from({ length: 1000 }, (_, n) => `X-${n}: ${n}`))],
  ["200", "Connection: close", get("/health", "Connection: close")],
  [
    "200, 200",
    "an upgrade to WebSocket",
    get(
      "/health",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Version: 13",
    ),
  ],
  ["404 not_found, 200", "a forwarded scheme", get("/nothing", "X-Forwarded-Proto: https")],
  ["404 not_found, 200", "a forwarded scheme that is none", get("/nothing", "X-Forwarded-Proto: ftp")],
  ["404 not_found, 200", "two forwarded schemes", get("/nothing", "X-Forwarded-Proto: https, http")],
  ["200, 200", "a range of a file", get("/error-codes.json", "Range: bytes=0-9")],
  ["304, 200", "a file that the client has, by any tag", get("/error-codes.json", "If-None-Match: *")],
  [
    "204, 200",
    "a preflight request",
    head("OPTIONS /v1/render HTTP/1.1", HOST, "Origin: https://a.example", "Access-Control-Request-Method: POST"),
  ],
);

/** Tokens. */
const TOKENS = rows(
  "next",
  ["403 forbidden, 200", "no token", head("POST /v1/render HTTP/1.1", HOST, JSON_TYPE, LENGTH) + SOURCE],
  [
    "403 forbidden, 200",
    "a wrong token",
    head("POST /v1/render HTTP/1.1", HOST, "X-Service-Api-Token: wrong", JSON_TYPE, LENGTH) + SOURCE,
  ],
  ["403 forbidden, 200", "the token twice", whole(TOKEN)],
  ["200, 200", "the constraints with a token and a body", get("/v1/constraints", TOKEN, LENGTH) + SOURCE],
  [
    "403 forbidden, 200",
    "a wrong token and a large body",
    head("POST /v1/render HTTP/1.1", HOST, "X-Service-Api-Token: wrong", "Content-Length: 100000") +
      "x".repeat(100_000),
  ],
);

/** Bodies and their framing. */
const BODIES = rows(
  "next",
  ["200, 200", "a render", whole()],
  [
    "200, 200",
    "a render byte by byte",
    whole().slice(0, -3),
    whole().slice(-3, -2),
    whole().slice(-2, -1),
    whole().slice(-1),
  ],
  ["400 invalid_request, 200", "no length and no body", render()],
  ["400 invalid_request, 200", "a length of zero", render("Content-Length: 0")],
  ["200, 200", "a length with leading zeros", render("Content-Length: 0014") + SOURCE],
  ["400", "a negative length", render("Content-Length: -1") + SOURCE],
  ["413 request_too_large", "a length over the limit", render("Content-Length: 20971521") + SOURCE],
  ["200, 200", "two equal lengths", render(LENGTH, LENGTH) + SOURCE],
  ["400", "two different lengths", render(LENGTH, "Content-Length: 13") + SOURCE],
  ["200", "a length and chunks", render(LENGTH, CHUNKED) + chunk(SOURCE) + LAST],
  ["200, 200", "one chunk", render(CHUNKED) + chunk(SOURCE) + LAST],
  ["400 invalid_request, 200", "no chunk but the last", render(CHUNKED) + LAST],
  ["200, 200", "a chunk with an extension", render(CHUNKED) + chunk(SOURCE, ";a=b") + LAST],
  ["200, 200", "a trailer", `${render(CHUNKED) + chunk(SOURCE)}0\r\nX-A: b\r\n\r\n`],
  [
    "403 forbidden, 200",
    "a trailer with a token",
    `${head("POST /v1/render HTTP/1.1", HOST, JSON_TYPE, CHUNKED) + chunk(SOURCE)}0\r\n${TOKEN}\r\n\r\n`,
  ],
  ["400 invalid_request", "the size of a chunk of 2^64", `${render(CHUNKED)}10000000000000000\r\n${SOURCE}\r\n${LAST}`],
  ["400 invalid_request", "a chunk that is longer than it says", `${render(CHUNKED)}5\r\n${SOURCE}\r\n${LAST}`],
  [
    "400 invalid_request",
    "chunks that end with line feeds",
    render(CHUNKED) + (chunk(SOURCE) + LAST).replaceAll("\r\n", "\n"),
  ],
  [
    "400",
    "Transfer-Encoding with a space before the colon",
    render("Transfer-Encoding : chunked") + chunk(SOURCE) + LAST,
  ],
  [
    "400 invalid_request, 200",
    "Transfer-Encoding: gzip, chunked",
    render("Transfer-Encoding: gzip, chunked") + chunk(SOURCE) + LAST,
  ],
  [
    "400 invalid_request, 200",
    "Transfer-Encoding: chunked, chunked",
    render("Transfer-Encoding: chunked, chunked") + chunk(SOURCE) + LAST,
  ],
  ["400 invalid_request, 200", "Transfer-Encoding twice", render(CHUNKED, CHUNKED) + chunk(SOURCE) + LAST],
  ["400", "chunks in HTTP/1.0", render(CHUNKED).replace("HTTP/1.1", "HTTP/1.0") + chunk(SOURCE) + LAST],
  ["200", "a render in HTTP/1.0", whole().replace("HTTP/1.1", "HTTP/1.0")],
  ["200, 200", "GET with a body", get("/health", LENGTH) + SOURCE],
  [
    "405 method_not_allowed, 200",
    "POST to a path that takes GET",
    head("POST /health HTTP/1.1", HOST, LENGTH) + SOURCE,
  ],
  ["400 invalid_request, 200", "a body that is no JSON", `${render("Content-Length: 3")}abc`],
);

/** Clients that ask before they send, and pipelines. */
const EXPECTATIONS = rows(
  "next",
  ["100, 200, 200", "Expect with a whole body", render(LENGTH, EXPECT) + SOURCE],
  ["100, 200, 200", "Expect with chunks", render(CHUNKED, EXPECT), chunk(SOURCE) + LAST],
  ["200, 200", "Expect without a body", get("/health", EXPECT)],
  ["200, 200", "an expectation that nobody knows", whole("Expect: wonders")],
  ["200, 404 not_found, 200", "two requests at once", get("/health") + get("/nothing")],
  ["200, 200, 404 not_found, 200", "a render between two others", get("/health") + whole() + get("/nothing")],
  [
    "403 forbidden, 200, 200",
    "a render without a token, then another",
    head("POST /v1/render HTTP/1.1", HOST, JSON_TYPE, LENGTH) + SOURCE + whole(),
  ],
  ["200, 400", "a request, then bytes that are no HTTP", `${get("/health")}\u0001\u0002\r\n\r\n`],
  [
    "400 invalid_request",
    "a smuggled request behind a length",
    `${render("Content-Length: 4", CHUNKED)}0\r\n\r\n${get("/smuggled")}`,
  ],
);

/** Clients that send no more, and wait. */
const ENDS = rows(
  "ends",
  ["", "that ends: nothing at all", ""],
  ["", "that ends: half a head", "GET /health HTTP/1.1\r\nHost: edge.exa"],
  ["200", "that ends: a render", whole()],
  ["400 invalid_request", "that ends: half a body", render(LENGTH) + SOURCE.slice(0, 5)],
  ["400 invalid_request", "that ends: chunks without the last", render(CHUNKED) + chunk(SOURCE)],
  ["413 request_too_large", "that ends: half of a body over the limit", `${render("Content-Length: 20971521")}xxxxx`],
  ["100, 400 invalid_request", "that ends: Expect, and no body", render(LENGTH, EXPECT)],
  ["413 request_too_large", "that ends: Expect of a body over the limit", render("Content-Length: 20971521", EXPECT)],
  [
    "403 forbidden",
    "that ends: Expect without a token",
    head("POST /v1/render HTTP/1.1", HOST, JSON_TYPE, LENGTH, EXPECT),
  ],
  ["200", "that ends: a request, then half of another", `${get("/health")}GET /heal`],
);

/** Clients that leave. The edge must go on serving others. */
const LEAVES = rows(
  "leaves",
  ["", "that leaves: half a body", render(LENGTH) + SOURCE.slice(0, 5)],
  ["", "that leaves: a render", whole()],
  ["", "that leaves: a thousand requests", get("/health").repeat(1000)],
);

export const RAW_REQUESTS: readonly RawRequest[] = [
  ...LINES,
  ...FIELDS,
  ...TOKENS,
  ...BODIES,
  ...EXPECTATIONS,
  ...ENDS,
  ...LEAVES,
];

interface Difference {
  readonly answers: string;
  readonly why: string;
}

const SILENT = "workerd closes the connection without a word";

/** By names of rows; beside these, `differenceInNode` has a rule. */
export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  "absolute-form of another scheme": { answers: "404 not_found, 200", why: "workerd takes any scheme for its own" },
  "a target that is no path": { answers: "400 invalid_request", why: "workerd joins host and target" },
  "CONNECT to an authority": { answers: "400 invalid_request", why: "workerd has no handler, and says 500" },
  "line feeds alone": {
    answers: "400 invalid_request",
    why: "workerd takes them for line ends (RFC 9112, section 2.2, allows both)",
  },
  "no Host": { answers: "400 invalid_request, 200", why: "workerd answers itself" },
  "a value of 200,000 characters": { answers: "400 invalid_request", why: "the edge in Node bounds a head" },
  "a thousand fields": { answers: "400 invalid_request", why: "the edge in Node bounds a head" },
  "a forwarded scheme that is none": {
    answers: "400 invalid_request, 200",
    why: "workerd does not read the field here",
  },
  "two forwarded schemes": { answers: "400 invalid_request, 200", why: "the same" },
  "two equal lengths": { answers: "400 invalid_request", why: "Node takes none twice" },
  "a length and chunks": { answers: "400 invalid_request", why: "Node takes no two framings" },
  "two different Hosts": { answers: "400 invalid_request", why: "Node closes the connection" },
  "Transfer-Encoding twice": { answers: "400 invalid_request", why: "Node closes the connection" },
  "Transfer-Encoding: chunked, chunked": { answers: "400 invalid_request", why: "Node closes the connection" },
  "Transfer-Encoding: gzip, chunked": { answers: "400 invalid_request", why: "Node closes the connection" },
  "GET with a body": { answers: "200", why: "Node closes the connection where a body is not read" },
  "Expect without a body": { answers: "200", why: "Node closes the connection where a body is not read" },
  "a request, then bytes that are no HTTP": { answers: "200", why: "Node closes the connection without a word" },
  "that ends: a render": { answers: "100, 200", why: "an interim answer shows whether the client still reads" },
  "that ends: a request, then half of another": {
    answers: "200, 400 invalid_request",
    why: SILENT,
  },
  "that ends: half of a body over the limit": {
    answers: "400 invalid_request",
    why: "Node sees first that the body is broken",
  },
  "a preflight request": { answers: "204", why: "Chromium repeats a POST unless its connection is new" },
  "an upgrade to WebSocket": { answers: "200", why: "Node closes the connection behind a request for an upgrade" },
  "that ends: half a head": { answers: "400 invalid_request", why: SILENT },
};

/** The answer of workerd itself. */
const BARE_REFUSAL = /^(?:400|414|501)$/;

/** What the edge in Node answers otherwise than the row says, which holds for workerd, and why that is allowed. */
export function differenceInNode({ name, answers }: RawRequest): Difference | undefined {
  const bare = { answers: "400 invalid_request", why: "workerd answers itself, without a problem" };
  return DIFFERENCES[name] ?? (BARE_REFUSAL.test(answers) ? bare : undefined);
}
