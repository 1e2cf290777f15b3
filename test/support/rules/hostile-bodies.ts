/**
 * Bodies that are meant to be expensive to validate, by name: each repeats one pattern up to the given number of bytes.
 */

export interface HostileBody {
  readonly name: string;
  /** A body of about this many bytes, rarely more. */
  readonly make: (bytes: number) => string;
}

/** As many copies of `unit` as fit, with commas between them. */
function list(unit: string, bytes: number): string {
  return Array(Math.max(1, Math.floor(bytes / (unit.length + 1))))
    .fill(unit)
    .join(",");
}

/** As many numbered copies as fit, with commas between them. */
function numbered(unit: (index: number) => string, bytes: number): string {
  const units: string[] = [];
  for (let index = 0, size = 0; size < bytes; index++) {
    const text = unit(index);
    units.push(text);
    size += text.length + 1;
  }
  return units.join(",");
}

const inData = (data: string) => `{"source":"x","data":${data}}`;
const inFiles = (members: string) => `{"source":"x","files":{${members}}}`;
const inOutput = (members: string) => `{"source":"x","output":{${members}}}`;

/** Any `data` of about this many bytes. */
function data(name: string, make: (bytes: number) => string): HostileBody {
  return { name, make: (bytes) => inData(make(bytes)) };
}

/** `data` that is an array of the unit. */
const items = (name: string, unit: string) => data(name, (bytes) => `[${list(unit, bytes)}]`);

/** An object in `data` of members with the key and value. */
const members = (name: string, member: string) => data(name, (bytes) => `{${list(member, bytes)}}`);

/** An output with such a member. */
function output(name: string, member: (bytes: number) => string): HostileBody {
  return { name, make: (bytes) => inOutput(member(bytes)) };
}

/** `files` with numbered keys. */
function files(name: string, key: (index: number) => string, file: string): HostileBody {
  return { name, make: (bytes) => inFiles(numbered((index) => `"${key(index)}":${file}`, bytes)) };
}

/** An array in `data` whose last items are errors, so that the search for their paths passes all other items. */
const lastErrors = (name: string, unit: string) =>
  data(name, (bytes) => `[${list(unit, bytes)},${Array(30).fill("1e999").join(",")}]`);

function nested(opening: string, closing: string, leaf: string, bytes: number): string {
  const depth = Math.floor(bytes / (opening.length + closing.length));
  return opening.repeat(depth) + leaf + closing.repeat(depth);
}

const RESERVED = "$__toml_private_datetime";
const TEXT = '{"encoding":"text","content":""}';
const DEEP_KEY = `${"k/".repeat(253)}`;

export const HOSTILE_BODIES: readonly HostileBody[] = [
  ...[
    "0",
    "1e308",
    "1e309",
    "1.7976931348623157e308",
    "1e99999999999999999999",
    `1${"0".repeat(308)}`,
    `9${"9".repeat(400)}e-200`,
    `0.${"0".repeat(300)}1e600`,
  ].map((unit) => items(`numbers ${unit.slice(0, 24)}`, unit)),
  data("an integer as long as the body", (length) => "9".repeat(length)),
  data("a fraction as long as the body", (length) => `0.${"0".repeat(length)}1`),
  data("an exponent as long as the body", (length) => `1e${"0".repeat(length)}308`),
  data("digits and an exponent that bring each other back", (length) => `${"1".repeat(length)}e-${length - 309}`),
  ...["true", "null", '""', '"a"', "[]", "{}", "[[]]", '{"":{}}'].map((unit) => items(`items ${unit}`, unit)),
  ...["\\n", "\\u0041", "\\u00e9", "\\ud83d\\ude00", "\\ud800", "é", "\u{1f600}", "a\\n"].flatMap((unit) => [
    data(`one string of ${unit}`, (bytes) => `"${unit.repeat(bytes / unit.length)}"`),
    items(`strings of ${unit}`, `"${unit.repeat(8)}"`),
    { name: `source of ${unit}`, make: (bytes: number) => `{"source":"${unit.repeat(bytes / unit.length)}"}` },
  ]),
  items("lone surrogates", '"\\ud800"'),
  members("keys that are empty", '"":0'),
  members("keys of escapes", `"${"\\u0041".repeat(20)}":0`),
  members("keys of 400 characters", `"${"k".repeat(400)}":0`),
  members("reserved keys", `"${RESERVED}":0`),
  members("reserved keys with objects", `"${RESERVED}":{"${RESERVED}":{"${RESERVED}":0}}`),
  items("objects that are dates", `{"${RESERVED}":"2020-01-01"}`),
  items("objects with a reserved key of escapes", `{"${"\\u0024"}${RESERVED.slice(1)}":"2020-01-01"}`),
  data(
    "reserved keys nested in each other",
    (bytes) => `[${list(nested(`{"${RESERVED}":`, "}", '"2020-01-01"', 3400), bytes)}]`,
  ),
  data("keys that all differ", (bytes) => `{${numbered((index) => `"k${index}":0`, bytes)}}`),
  lastErrors("errors past many empty strings", '""'),
  lastErrors("errors past many objects", '{"key":{"other":[1,2]}}'),
  lastErrors("errors past many keys of escapes", `{"${"\\u0041".repeat(30)}":0}`),
  lastErrors("errors past many nests", `${"[".repeat(100)}${"]".repeat(100)}`),
  items("errors at many places", '{"a":[1e999,"\\ud800"]}'),
  items("nests that are too deep", `${"[".repeat(130)}${"]".repeat(130)}`),
  data("arrays as deep as the body", (bytes) => nested("[", "]", "", bytes)),
  data("objects as deep as the body", (bytes) => nested('{"":', "}", "0", bytes)),
  { name: "a deep unknown field", make: (bytes) => `{"source":"x","y":${nested('[{"":', "}]", "0", bytes)}}` },
  data("spaces", (bytes) => `[${" \n\t\r".repeat(bytes / 4)}]`),
  { name: "unknown fields", make: (bytes) => `{"source":"x",${list('"":0', bytes)}}` },
  { name: "unknown fields that all differ", make: (bytes) => `{"source":"x",${numbered((i) => `"${i}":0`, bytes)}}` },
  { name: "an unknown field with a long name", make: (bytes) => `{"source":"x","${"n".repeat(bytes)}":0}` },
  { name: "duplicate fields", make: (bytes) => `{${list('"source":"x"', bytes)}}` },
  files("many files", (index) => `f${index}`, TEXT),
  files("one key over and over", () => "f", TEXT),
  files("deep keys", (index) => `${DEEP_KEY}${index.toString().padStart(5, "0")}`, TEXT),
  files("deep keys with one end too many", (index) => `${DEEP_KEY}${index}/`, TEXT),
  files("keys of segments alone", () => "/".repeat(512), TEXT),
  files("keys of dots alone", () => `${".".repeat(254)}/${".".repeat(254)}`, TEXT),
  files("keys that are too long", (index) => `${"k".repeat(600)}${index}`, TEXT),
  files("keys of escapes", (index) => `${"\\u0041".repeat(400)}${index}`, TEXT),
  files("keys that end in a bad character", (index) => `${"k".repeat(250)}${index}\\n`, TEXT),
  files("keys with one directory each", (index) => `d${index}/${"k/".repeat(200)}k`, TEXT),
  files("files that are no objects", (index) => `f${index}`, "0"),
  files("files of unknown fields", (index) => `f${index}`, `{${list('"e":0', 400)}}`),
  files("files of duplicate fields", (index) => `f${index}`, `{${list('"encoding":"text"', 800)}}`),
  files("files of an unknown encoding", (index) => `f${index}`, `{"encoding":"${"x".repeat(700)}","content":""}`),
  files("invalid Base64", (index) => `f${index}`, '{"encoding":"base64","content":"A"}'),
  files(
    "Base64 that is invalid at its end",
    (index) => `f${index}`,
    `{"encoding":"base64","content":"${"AAAA".repeat(200)}AA.="}`,
  ),
  files("Base64 of escapes", (index) => `f${index}`, `{"encoding":"base64","content":"${"\\u0041".repeat(400)}"}`),
  files("data URLs", (index) => `f${index}`, `{"encoding":"base64","content":"data:${"a".repeat(400)}"}`),
  {
    name: "one file of line breaks in Base64",
    make: (bytes) => inFiles(`"f":{"encoding":"base64","content":"${"\\n".repeat(bytes / 2)}"}`),
  },
  {
    name: "a Base64 file as long as the body",
    make: (bytes) => inFiles(`"f":{"encoding":"base64","content":"${"AAAA".repeat(bytes / 4)}"}`),
  },
  output("a long page selection", (bytes) => `"pages":"${list("1", bytes)}"`),
  output("a page selection of escapes", (bytes) => `"pages":"${"\\ud83d\\ude00".repeat(bytes / 12)}"`),
  output("many standards", (bytes) => `"standards":[${list('"ua-1"', bytes)}]`),
  output("many long standards", (bytes) => `"standards":[${list(`"${"x".repeat(5000)}"`, bytes)}]`),
  output("unknown output fields", (bytes) => list('"":0', bytes)),
  output("a long file name", (bytes) => `"filename":"${"n".repeat(bytes)}"`),
  output("a file name of escapes", (bytes) => `"filename":"${"\\u0041".repeat(bytes / 6)}"`),
  output("a long format", (bytes) => `"format":"${"\\ud800".repeat(bytes / 6)}"`),
  output("a long number in output", (bytes) => `"format":"png","ppi":1${"0".repeat(bytes)}`),
  { name: "a long string in place of the request", make: (bytes) => `"${"a".repeat(bytes)}"` },
];
