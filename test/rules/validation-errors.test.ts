/** The prose of the field errors of a request. Which there are, in which order and with which code: render-request.property. */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { errorsOf, problemOf } from "../support/rules/bodies.ts";

const TEXT_FILE = { encoding: "text", content: "x" };
const base64File = (content: string) => ({ encoding: "base64", content });
const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("a field error", () => {
  it.each([
    [{ archive: "tar", format: "png" }, 'archive must be one of zip, not "tar"'],
    [{ version: "1.8" }, 'version must be one of 1.4, 1.5, 1.6, 1.7, 2.0, not "1.8"'],
    [{ ppi: 301, format: "png" }, "ppi must be at most 300, not 301"],
    [{ standards: ["a-1a", "x", "y"] }, "standards must have at most 2 items, not an array of 3"],
    [{ pages: 1 }, "pages must be a string, not 1"],
    [{ pages: true }, "pages must be a string, not true"],
    [{ pages: false }, "pages must be a string, not false"],
    [{ pages: [1, 2] }, "pages must be a string, not an array"],
    [{ pages: { a: 1 } }, "pages must be a string, not an object"],
    [{ standards: null }, "standards must be an array, not null"],
    [{ standards: ["a-5"] }, /^standards must be one of a-1b, .*, ua-1, not "a-5"$/],
    [{ standards: [1] }, "standards must be a string, not 1"],
    [{ version: 1.7 }, "version must be a string, not 1.7"],
    [{ ppi: 0, format: "png" }, "ppi must be at least 1, not 0"],
    [{ ppi: 1.5, format: "png" }, "ppi must be an integer, not 1.5"],
    [{ ppi: "1", format: "png" }, 'ppi must be a number, not "1"'],
    [{ page: 0, format: "svg" }, "page must be at least 1, not 0"],
    [{ format: 1 }, "format must be a string"],
    [{ ppi: 1 }, "ppi is not an option of pdf"],
    [{ colour: 1 }, "unknown field"],
    [{ format: "PDF" }, 'format must be pdf, png or svg, not "PDF"'],
  ])("says what is wanted: %j", (output, msg) => {
    const { context } = problemOf({ source: "a", output }) ?? {};
    expect(context).toMatchObject({ errors: [{ msg: typeof msg === "string" ? msg : expect.stringMatching(msg) }] });
  });

  const BEYOND = "a number above 1.8e308 or of more than 1024 bytes";

  it.each([
    ["page", "1e309", `page must be an integer, not ${BEYOND}`],
    ["page", "-1e309", "page must be an integer, not a number below -1.8e308"],
    ["ppi", `1${"0".repeat(1024)}`, `ppi must be an integer, not ${BEYOND}`],
    ["page", `1.${"0".repeat(1023)}`, `page must be an integer, not ${BEYOND}`],
    ["pages", `1.${"0".repeat(1023)}`, `pages must be a string, not ${BEYOND}`],
  ])("says of a number that is not read what it may be: %s %.10s", (field, number, msg) => {
    const { context } = problemOf(`{"source":"a","output":{"format":"png","${field}":${number}}}`) ?? {};
    expect(context).toMatchObject({ errors: [{ msg }] });
  });
});

it("data may nest a million containers without harm, and is rejected", () => {
  const problem = problemOf(`{"source":"a","data":${nested(1_000_000)}}`);
  expect(problem?.code).toBe("invalid_request");
  expect(errorsOf(problem)).toHaveLength(1);
});

it("the code of a request is that of an error past the 20th, when it ranks higher", () => {
  const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}/..`, TEXT_FILE]));
  expect(problemOf({ source: "a", files })).toMatchObject({
    code: "invalid_template_path",
    context: { errors_total: 30 },
  });
  const cutOff = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}`, base64File("Q")]));
  expect(problemOf({ source: "a", files: { ...cutOff, "..": TEXT_FILE } })?.code).toBe("invalid_template_path");
  expect(problemOf({ source: "a", files, extra: 1 })?.code).toBe("invalid_request");
  expect(problemOf({ source: "a", files, data: Array(30).fill("\ud800") })?.code).toBe("invalid_request");
});

describe("the problem about bad file data", () => {
  const problemFor = (content: string) => problemOf({ source: "a", files: { "logo.png": base64File(content) } });
  /** Longer than every text that is looked at. */
  const long = "QUJD".repeat(1000);
  const line = "QUJD".repeat(19);
  const FAULTS = {
    "has line breaks: encode without them": [
      "QUJD\r\nQUJD",
      "QUJD\n",
      `${line}\n${line}\n`,
      `${long}\n`,
      `${long}\r\n`,
    ],
    "is a data: URL: send only what follows the comma": ["data:image/png;base64,QUJD", "DATA:,x", "data:"],
    "is URL-safe Base64: use + for - and / for _, and pad with =": [
      "_-A=",
      "QU-_QQ",
      `${"QUJD".repeat(200)}QU_D${long}`,
    ],
    "has spaces, perhaps where + was: Base64 has none": ["QUJD QUJD", "QUJD ", `${long} `],
    "lacks padding: add = until its length is a multiple of four": ["QQ", "QQ=", "QUJDQUI", `${long}QUI`],
    "is cut off: no Base64 has this length": ["QUJDQ", `${long}Q`],
    "is not Base64: send text with the encoding text": [
      "<svg xmlns='http://www.w3.org/2000/svg'/>",
      "#let x = 1",
      "Grüße",
    ],
    "is not valid Base64 (RFC 4648 section 4: padded, no spaces, unused bits zero)": [
      ...["QR==", "QUJ=", "QQ==QUJD", "====", `${long}!!!!`, `${long}-_-_${long}`, "\\AAA"],
    ],
  };

  it.each(Object.entries(FAULTS))("%s", (fault, contents) => {
    for (const content of contents) {
      const problem = problemFor(content);
      expect(problem?.context).toMatchObject({ errors: [{ msg: `content ${fault}` }] });
      expect(problem?.detail).toBe(`The content of the file "logo.png" ${fault}.`);
    }
  });

  it("is never a part of the content", () => {
    const secret = "secret".repeat(20);
    for (const content of [`data:${secret}`, `${secret}\n`, `-${secret}`, `<${secret}>`, `${secret} `, `${secret}A`]) {
      expect(JSON.stringify(problemFor(content))).not.toContain("secret");
    }
  });

  it("names lone surrogates in a text and in the source", () => {
    const file = { encoding: "text", content: "\ud800" };
    expect(problemOf({ source: "a", files: { b: file } })?.detail).toBe(
      'The content of the file "b" contains a lone surrogate, which UTF-8 cannot encode.',
    );
    expect(problemOf({ source: "\ud800", files: { b: file } })?.detail).toBe(
      "source contains a lone surrogate, which UTF-8 cannot encode.",
    );
  });
});

const detailOf = (request: unknown) => problemOf(request)?.detail;

it.each([
  [{}, "The request is not valid. source: source is required."],
  ["[]", "The request is not valid. the request must be a JSON object, not an array."],
  ["1", "The request is not valid. the request must be a JSON object, not a number."],
  ['"x"', "The request is not valid. the request must be a JSON object, not a string."],
  ["null", "The request is not valid. the request must be a JSON object, not null."],
  ["true", "The request is not valid. the request must be a JSON object, not a boolean."],
  [{ source: 1, x: 1 }, "The request is not valid. source: source must be a string, not a number (and 1 more)."],
  [{ source: "s", data: Array(30).fill("\ud800") }, /^The request is not valid\. data\.0: .* \(and 29 more\)\.$/],
  [{ source: "s", files: [] }, "The request is not valid. files: expected an object, got an array."],
  [{ source: "s", output: [] }, "The request is not valid. output: output must be an object."],
  // The code is not that of an invalid key.
  [{ source: "s", files: { "..": TEXT_FILE }, x: 1 }, "The request is not valid. x: unknown field (and 1 more)."],
  [
    { source: "s", files: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`${i}/`, TEXT_FILE])), x: 1 },
    "The request is not valid: a field is not valid.",
  ],
  [{ source: "\ud800" }, "source contains a lone surrogate, which UTF-8 cannot encode."],
  [
    { source: "s", files: { k: base64File("Q") } },
    'The content of the file "k" is cut off: no Base64 has this length.',
  ],
  ["{", "The body is not valid JSON: syntax error at byte 1."],
])(
  "the detail of a request with field errors of %j says where the first is and how many there are",
  (request, detail) => {
    if (typeof detail === "string") expect(detailOf(request)).toBe(detail);
    else expect(detailOf(request)).toMatch(detail);
  },
);

it.each([
  ["UTF-8", "efbbbf7b7d"],
  ["UTF-16, little end first", "fffe7b00"],
  ["UTF-16, big end first", "feff007b"],
])("a byte order mark before the body is named: %s", (_encoding, hex) => {
  const parsed = parseRenderRequest(Buffer.from(hex, "hex"), DEFAULT_LIMITS);
  const detail = "The body is not valid JSON: it begins with a byte order mark. Send UTF-8 without one.";
  expect(parsed).toMatchObject({ ok: false, problem: { code: "invalid_request", detail } });
});

const FAULTS: readonly (readonly [message: RegExp, ...keys: string[]])[] = [
  [/must not contain spaces: allowed are the letters A-Z and/, "a b", "my folder/a.png", `${"k/".repeat(255)} k`],
  [/only ASCII, so no umlauts or accents: allowed are the letters A-Z/, "Gr\u00fc\u00dfe.typ", "\u{1f600}", "\ud800"],
  [/only ASCII, so no umlauts or accents: allowed are the letters A-Z/, "Gr\u00fc\u00dfe an alle.typ"],
  [/: allowed are the letters A-Z and a-z, digits, dots, underscores, hyphens, and slashes between/, "a\n", "a%20b"],
  [/: allowed are the letters A-Z/, "@preview/x"],
  [/separate folders by \/, not by \\/, "a\\b", "C:\\logos\\a b.png"],
  [/path within the project, not an absolute path or a URL/, "C:/logos/a.png", "file:///a", "https://example.com/a"],
  [/must not be empty/, ""],
  [/not an absolute path or a URL: leave out the slash at its beginning/, "/a", "/"],
  [/end with a slash/, "a/", `${"k/".repeat(254)}../`],
  [/two in a row/, "a//b"],
  [/must not contain "\.\.": it cannot lead out of the project/, "../a", "a/..", `${"s".repeat(255)}/..`],
  [/begin with the name itself, without "\.\/"/, "./a"],
  [/dots alone/, "a/./b", ".", "a/..."],
  [/at most 255 characters/, "s".repeat(256), `a/${"s".repeat(256)}`],
  [/at most 512 characters/, "k/".repeat(300)],
];

it.each(FAULTS.map(([message, ...keys]) => ({ message, keys })))(
  "the problem about a bad key says what is wrong: $message",
  ({ message, keys }) => {
    for (const key of keys) {
      const found = problemOf({ source: "a", files: { [key]: TEXT_FILE } });
      expect(found?.detail).toMatch(message);
      expect(found?.context).toMatchObject({ errors: [{ loc: ["files"], msg: expect.stringMatching(message) }] });
    }
  },
);

describe("invalid_template_path", () => {
  const key = `../${"secret".repeat(30)}`;

  it("names the key, shortened, in detail and nowhere in the context", () => {
    const problem = problemOf({ source: "x", files: { [key]: TEXT_FILE } });
    expect(problem?.code).toBe("invalid_template_path");
    expect(problem?.detail).toContain(`"${key.slice(0, 79)}…"`);
    expect(JSON.stringify(problem?.context)).not.toContain("secret");
  });

  it("names the first of several keys in detail, its lone surrogates written out", () => {
    const problem = problemOf({ source: "x", files: { a: TEXT_FILE, "b\ud800": TEXT_FILE, "..": TEXT_FILE } });
    expect(problem?.detail).toContain('"b\\ud800"');
    expect(errorsOf(problem)).toEqual(["files: invalid_key", "files: invalid_key"]);
  });
});
