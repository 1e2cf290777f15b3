/** The client for Python: what it finds by itself is what the service would say, and it behaves like the one for TypeScript. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { hasPython, PythonDriver } from "../../support/clients/python-driver.ts";
import { answer, startScript } from "../../support/clients/scripted-service.ts";
import { type SharedService, sharedService } from "../../support/service/test-service.ts";
import { API_TOKEN } from "../../support/tokens.ts";

describe.skipIf(!hasPython())("the Python client", () => {
  let driver: PythonDriver;

  beforeAll(() => {
    driver = new PythonDriver();
  });

  afterAll(() => driver?.stop());

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

  it.each([
    ["limits that are texts", { limits: { effective_max_files: 64, max_request_body_bytes: "many" } }],
    ["no limits", { limits: undefined }],
    ["a list of limits", { limits: [1] }],
  ])("says that constraints are not those of the service: %s", async (_what, members) => {
    const document = { ...constraintsDocument(DEFAULT_LIMITS), ...members };
    const { url } = await startScript(answer(200, { "Content-Type": "application/json" }, JSON.stringify(document)));
    const { result } = await call("constraints", { url, token: API_TOKEN });
    expect(result).toMatchObject({ error: "UnexpectedResponseError" });
  });

  it.each([
    ["a relative URL", { url: "/v1" }],
    ["another scheme", { url: "ftp://render.example" }],
    ["a URL with a password", { url: "https://me:secret@render.example" }],
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
      service = await sharedService({
        SERVICE_MAX_TEMPLATE_SOURCE_BYTES: "100",
        SERVICE_MAX_INLINE_FILE_BYTES: "10",
        SERVICE_MAX_REQUEST_BODY_BYTES: "1500",
      });
    });

    const options = () => ({ url: service.edge.url.href, token: API_TOKEN });

    it("renders, with integers that a double cannot hold", async () => {
      const source = '#assert.eq(str(data.id), "9007199254740993")';
      const request = `{"source":${JSON.stringify(source)},"data":{"id":9007199254740993},"output":{"filename":"Grüße"}}`;
      const { result } = await call("render", { ...options(), json: request });
      expect(result).toMatchObject({ ok: true, content_type: "application/pdf", filename: "Grüße.pdf" });
      expect(String(result.content).slice(0, 5)).toBe("%PDF-");
    });

    it.each([
      ["a source", { source: "x".repeat(101) }],
      ["a text", { source: "x", files: { a: { encoding: "text", content: "é".repeat(6) } } }],
      ["a file in Base64", { source: "x", files: { a: { encoding: "base64", content: "QUJDREVGR0hJSks=" } } }],
      ["a body", { source: "x", data: "x".repeat(2000) }],
    ])(
      "refuses %s that is over a limit of the deployment as the service would, without sending it",
      async (_, request) => {
        const unchecked = { ...options(), check_before_sending: false };
        const { instance, request_id, ...problem } = Object((await call("render", unchecked, request)).result.problem);
        expect([problem.status, typeof instance, typeof request_id]).toEqual([413, "string", "string"]);
        expect((await call("render", options(), request)).result).toMatchObject({ checked_locally: true, problem });
      },
    );

    it("sends what is within the limits, also what the service refuses for another reason", async () => {
      const request = { source: "x", files: { a: { encoding: "base64", content: "QUJDREVGR0hJSg==" }, "b c": {} } };
      expect((await call("render", options(), request)).result).toMatchObject({
        checked_locally: false,
        problem: { status: 400 },
      });
    });

    it("reports a wrong token, for renders and constraints alike", async () => {
      const wrong = { ...options(), token: "wrong" };
      expect((await call("render", wrong, REQUEST)).result).toMatchObject({ problem: { code: "forbidden" } });
      expect((await call("constraints", wrong)).result).toMatchObject({ code: "forbidden", status: 403 });
    });
  });
});
