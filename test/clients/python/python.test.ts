/** The client for Python: its verdicts are the service's, and it behaves like the one for TypeScript. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { PROBLEMS } from "../../../rules/problem.ts";
import { asConstraints, vectorRequests } from "../../../rules/published-rules.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { hasPython, PythonDriver } from "../../support/clients/python-driver.ts";
import {
  answer,
  type Behaviour,
  PDF,
  sendPdf,
  startScript,
  WHOLE_PDF,
} from "../../support/clients/scripted-service.ts";
import { lowLimits, mutatedBody, requestBody } from "../../support/rules/request-arbitraries.ts";
import { runs } from "../../support/rules/runs.ts";
import { type SharedService, sharedService } from "../../support/service/test-service.ts";
import { API_TOKEN } from "../../support/tokens.ts";

/** A verdict of either side, with its words, except for where JSON is malformed. */
function comparable(verdict: unknown): unknown {
  const { code, detail, context } = Object(verdict ?? { code: null });
  if (code === null) return null;
  return { code, context, detail: String(detail).replace(/^(The body is (?:not valid JSON|nested)).*$/, "$1") };
}

function ofService(body: Uint8Array, limits: Limits): unknown {
  const parsed = parseRenderRequest(body, limits);
  return parsed.ok ? null : parsed.problem;
}

describe.skipIf(!hasPython())("the Python client", () => {
  let driver: PythonDriver;

  beforeAll(() => {
    driver = new PythonDriver();
  });

  afterAll(() => driver?.stop());

  describe("comes to the verdict of the service", () => {
    const publish = (limits: Limits) => driver.ask({ do: "publish", document: constraintsDocument(limits) });

    it.each([
      ["generated requests", requestBody],
      ["requests with bytes changed, added or taken out", mutatedBody],
    ])("on %s", async (_what, arbitrary) => {
      const BODIES_PER_LIMITS = 250;
      for (const limits of fc.sample(lowLimits, runs(8))) {
        await publish(limits);
        const bodies = fc.sample(arbitrary, BODIES_PER_LIMITS);
        const encoded = bodies.map((body) => Buffer.from(body).toString("base64"));
        const verdicts = await driver.ask({ do: "verdicts", bodies: encoded });
        if (!Array.isArray(verdicts)) throw new Error("no verdicts");
        for (const [index, body] of bodies.entries()) {
          const text = Buffer.from(body).toString("latin1");
          expect(comparable(verdicts[index]), text).toEqual(comparable(ofService(body, limits)));
        }
      }
    });
  });

  it("says the service's words, on every published vector and on the mistakes of beginners", async () => {
    const constraints = asConstraints(constraintsDocument(DEFAULT_LIMITS));
    if (constraints === null) throw new Error("no constraints");
    await driver.ask({ do: "publish", document: constraints });
    const file = (content: unknown, encoding: unknown = "base64") => ({
      source: "x",
      files: { "a.png": { encoding, content } },
    });
    const keys = ["logo neu.png", ..."Grüße.png C:\\a.png a\\b http://a/b a?b /a a//b ../a ./a ...".split(" ")];
    keys.push("", "x".repeat(300));
    const contents = ["data:image/png;base64,AA", "QUJ\nD", "plain text!", "QU JD", "QU-_", "QUJDR", "QUI", "QUJ="];
    contents.push("====", "Ä");
    const mistakes = [
      ...vectorRequests(constraints).map(({ request }) => request),
      ...keys.map((key) => ({ source: "x", files: { [key]: { encoding: "text", content: "" } } })),
      ...contents.map((it) => file(it)),
      file(7),
      file("", "utf8"),
      { source: "x", files: [] },
      { source: "x", files: { "a.typ": "text" } },
      { source: "x", files: { "a.typ": {}, "b.typ": { content: "", encoding: "text", name: 1 } } },
      { soruce: "x" },
      { source: "" },
      { source: null },
      { source: "\ud800" },
      { source: "x", data: { $__toml_private_datetime: "2020-01-01" } },
      { source: "x", data: "\udfff" },
      ...[{ format: "docx" }, { format: 1 }, { ppi: 1 }, { format: "png", ppi: 301 }, { format: "png", ppi: 0.5 }].map(
        (output) => ({ source: "x", output }),
      ),
      ...[1e-7, 1.5e-5, 1e21, 123456789012345680000, -0, true, null, "1", [], {}].map((ppi) => ({
        source: "x",
        output: { format: "png", ppi },
      })),
      ...[
        { standards: "a-2b" },
        { standards: ["a-2b", 1] },
        { standards: ["pdfa"] },
        { standards: ["a", "b", "c", "d"] },
        { pages: 1 },
        { version: 1.7 },
        { version: "1.8" },
      ].map((output) => ({ source: "x", output })),
      { source: "x", ...Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field ${index}`, 1])) },
      [],
      5,
    ];
    const bodies = mistakes.map((mistake) => Buffer.from(JSON.stringify(mistake)));
    const verdicts = await driver.ask({ do: "verdicts", bodies: bodies.map((body) => body.toString("base64")) });
    if (!Array.isArray(verdicts)) throw new Error("no verdicts");
    for (const [index, body] of bodies.entries()) {
      expect(comparable(verdicts[index]), body.toString()).toEqual(comparable(ofService(body, DEFAULT_LIMITS)));
    }
  });

  it("names each problem that it finds as the catalogue does", async () => {
    const titles = await driver.ask({ do: "titles" });
    if (typeof titles !== "object" || titles === null) throw new Error("no titles");
    for (const [code, found] of Object.entries(titles)) {
      const { status, origin, title } = Object.entries(PROBLEMS).find(([known]) => known === code)?.[1] ?? {};
      expect(found, code).toEqual([status, origin, title]);
    }
  });

  it.each([
    [
      '{"lines": [1, {"price": decimal.Decimal("1.50")}]}',
      "data.lines.1.price is a Decimal, which JSON does not have: send str(value), and read it in the template by decimal().",
    ],
    ['{"on": datetime.date(2026, 1, 2)}', "data.on is a date, which JSON does not have: send value.isoformat()."],
    [
      '{"at": datetime.datetime(2026, 1, 2)}',
      "data.at is a datetime, which JSON does not have: send value.isoformat().",
    ],
    ['[b"x"]', "data.0 is a bytes, which JSON does not have: send text, or a file by binary_file()."],
    ["{1}", "data is a set, which JSON does not have: send sorted(value)."],
    ['{"id": uuid.UUID(int=1)}', "data.id is a UUID, which JSON does not have: send str(value)."],
    ["1j", "data is a complex, which JSON does not have: send what JSON has."],
    ["{(1, 2): 3}", "data has a key that is a tuple: send str(key)."],
  ])("says of data that JSON does not have where it is, and what to send: %s", async (data, words) => {
    expect(await driver.ask({ do: "encode", data })).toBe(`TypeError: ${words}`);
  });

  it.each([
    ["float('nan')", "data is NaN"],
    ['{"rows": [{"price": 1.0}] * 500 + [{"price": -math.inf}]}', "data.rows.500.price is infinite"],
  ])("says of a number that JSON does not have where it is: %s", async (data, words) => {
    const sentence = `ValueError: ${words}, which JSON does not have: send None, or a text.`;
    expect(await driver.ask({ do: "encode", data })).toBe(sentence);
  });

  it("sends what JSON has as it is, integers with all their digits", async () => {
    expect(await driver.ask({ do: "encode", data: '(9007199254740993, {"a": None, 1: True})' })).toBe(
      '{"source":"x","data":[9007199254740993,{"a":null,"1":true}]}',
    );
  });

  it.each(["", null])(
    "says that there is no token if it is %j, as that of a variable that is not set",
    async (token) => {
      const { result } = await driver.call("render", { url: "http://127.0.0.1:1", token }, { source: "x" });
      expect(result).toMatchObject({ message: expect.stringMatching(/^There is no token: .* SERVICE_API_TOKEN\.$/) });
    },
  );

  const REQUEST = { source: "x" };

  const call = (...parameters: Parameters<PythonDriver["call"]>) => driver.call(...parameters);

  it("tries again if the file breaks off", async () => {
    const breaksOff: Behaviour = (response) => {
      response.writeHead(200, { ...PDF, "Content-Length": "1000" });
      response.write("%PDF-", () => response.destroy());
    };
    const server = await startScript(breaksOff, sendPdf);
    const options = { url: server.url, token: API_TOKEN, check_before_sending: false };
    expect((await call("render", options, REQUEST)).result).toMatchObject({ ok: true, content: WHOLE_PDF });
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    ["limits that are texts", { limits: { effective_max_files: 64, max_request_body_bytes: "many" } }],
    [
      "no rules, and no vectors that would miss them",
      { output_rules: { output_rules_version: 1, conformance_vectors: [] } },
    ],
    ["a list of rules", { output_rules: [] }],
    ["a pattern that is none", { segment_character_class: "[" }],
  ])("says that constraints are not those of the service: %s", async (_what, members) => {
    const document = { ...constraintsDocument(DEFAULT_LIMITS), conformance_vectors: [], ...members };
    const { url } = await startScript(answer(200, { "Content-Type": "application/json" }, JSON.stringify(document)));
    const request = { ...REQUEST, files: { a: { encoding: "text", content: "" } }, output: { format: "png", ppi: 72 } };
    const { result } = await call("check", { url, token: API_TOKEN }, request);
    expect(result).toMatchObject({ error: "UnexpectedResponseError" });
  });

  it.each([
    ["a relative URL", { url: "/v1" }],
    ["another scheme", { url: "ftp://render.example" }],
    ["a URL with a password", { url: "https://me:secret@render.example" }],
    ["an empty token", { token: "" }],
    ["a token with a line feed", { token: "secret\n" }],
    ["no attempt", { max_attempts: 0 }],
    ["a negative time", { max_total_seconds: -1 }],
    ["no time for silence", { silence_timeout_seconds: 0 }],
    ["too much time for silence", { silence_timeout_seconds: 3601 }],
  ])("rejects at once an option that cannot be used: %s", async (_what, options) => {
    const { result } = await call("render", { url: "http://127.0.0.1:1", token: API_TOKEN, ...options }, REQUEST);
    expect(result).toMatchObject({ error: "ValueError", message: expect.not.stringContaining("secret") });
  });

  describe("with the running service", () => {
    let service: SharedService;

    beforeAll(async () => {
      service = await sharedService({ SERVICE_MAX_INLINE_FILES: "2" });
    });

    const options = () => ({ url: service.edge.url.href, token: API_TOKEN });

    it("renders, with integers that a double cannot hold", async () => {
      const source = '#assert.eq(str(data.id), "9007199254740993")';
      const request = `{"source":${JSON.stringify(source)},"data":{"id":9007199254740993},"output":{"filename":"Grüße"}}`;
      const { result } = await call("render", { ...options(), json: request });
      expect(result).toMatchObject({ ok: true, content_type: "application/pdf", filename: "Grüße.pdf" });
      expect(String(result.content).slice(0, 5)).toBe("%PDF-");
    });

    it("refuses what the rules reject, without sending it, by the limits of the deployment", async () => {
      const files = Object.fromEntries(["a", "b", "c"].map((key) => [key, { encoding: "text", content: "" }]));
      const request = { source: "x", files };
      const refused = { code: "invalid_file_data", status: 400, context: { count: 3, limit: 2 }, request_id: null };
      expect((await call("render", options(), request)).result).toMatchObject({
        checked_locally: true,
        problem: refused,
      });
      expect((await call("check", options(), request)).result).toMatchObject({ verdict: "refused", problem: refused });
      expect((await call("check", options(), REQUEST)).result).toMatchObject({ verdict: "accepted" });
    });

    it("reports a wrong token, for renders, checks and constraints alike", async () => {
      const wrong = { ...options(), token: "wrong" };
      expect((await call("render", wrong, REQUEST)).result).toMatchObject({ problem: { code: "forbidden" } });
      expect((await call("check", wrong, REQUEST)).result).toMatchObject({ verdict: "unavailable" });
      expect((await call("constraints", wrong)).result).toMatchObject({ code: "forbidden", status: 403 });
    });
  });
});
