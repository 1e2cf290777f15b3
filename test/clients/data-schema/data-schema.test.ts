/** Data against schemas: every mistake has its place and a sentence that needs no knowledge of JSON Schema. */
import { describe, expect, it } from "vitest";
import { readSchema } from "../../../clients/data-schema/data-schema.ts";
import { findingInWords } from "../../../clients/data-schema/finding.ts";
import { DATA_MISTAKES, dataWith, SCHEMA_OF_MISTAKES } from "../../support/clients/data-mistakes.ts";

async function schemaOf(schema: object | string) {
  const read = await readSchema(typeof schema === "string" ? schema : JSON.stringify(schema));
  if (!("schema" in read)) throw new Error(JSON.stringify(read.findings));
  return read.schema;
}

async function judge(schema: object | string, data: string) {
  const { findings } = (await schemaOf(schema)).judge(data);
  return findings.map((finding) => findingInWords("data.json", finding).slice("data.json:".length));
}

it("finds no mistakes in data that fits", async () => {
  expect(await judge(SCHEMA_OF_MISTAKES, dataWith([]).text)).toEqual([]);
});

it.each(DATA_MISTAKES.map((mistake) => [mistake.what, mistake] as const))("finds %s", async (_what, mistake) => {
  const { text, told } = dataWith([mistake]);
  expect(await judge(SCHEMA_OF_MISTAKES, text)).toEqual(told);
});

it("reports a misspelt name of a required member as one mistake", async () => {
  const schema = { properties: { recipient: {} }, required: ["recipient"], additionalProperties: false };
  expect(await judge(schema, '{"recipiant": 1}')).toEqual([
    '1:2: recipiant: is not a known member. Did you mean "recipient"?',
  ]);
});

it("asks whether another member is a misspelling if the schema allows any", async () => {
  const schema = { properties: { unit_price: {} }, required: ["unit_price"] };
  expect(await judge(schema, '{"unitPrice": 1}')).toEqual([
    '1:1: "unit_price" is missing. Is "unitPrice" a misspelling of it?',
  ]);
});

it("does not call members or items unknown because of another mistake in them", async () => {
  const schema = {
    $ref: "#/$defs/head",
    properties: { total: { type: "number" } },
    unevaluatedProperties: false,
    $defs: { head: { properties: { id: { type: "string" }, day: { type: "string" } } } },
  };
  expect(await judge(schema, '{"id": 1, "day": "x"}')).toEqual([
    "1:8: id: must be a string, not the number 1: put it in quotes",
  ]);
  expect(await judge(schema, '{"id": "a", "dya": "x"}')).toEqual([
    '1:13: dya: is not a known member. Did you mean "day"?',
  ]);
  expect(await judge({ allOf: [{ prefixItems: [{ type: "string" }] }], unevaluatedItems: false }, "[1]")).toEqual([
    "1:2: [0]: must be a string, not the number 1: put it in quotes",
  ]);
});

const names = (stem: string, count: number) => Array.from({ length: count }, (_, index) => `${stem}Number${index}`);

it("reports the first twenty mistakes and counts the others", async () => {
  const { judge: count } = await schemaOf({ items: { type: "number" } });
  expect(count(JSON.stringify(names("a", 20)))).toMatchObject({ count: 20, findings: { length: 20 } });
  expect(count(JSON.stringify(names("a", 21)))).toMatchObject({ count: 21, findings: { length: 20 } });
});

it("compares names only for the mistakes that it reports: it ends where a thousand are misspelt", async () => {
  const wanted = names("post", 1000);
  const properties = Object.fromEntries(wanted.map((name) => [name, {}]));
  const misspelt = Object.fromEntries(names("part", 1000).map((name) => [name, 1]));
  const found = await judge({ properties, required: wanted, additionalProperties: false }, JSON.stringify(misspelt));
  expect(found.length).toBe(20);
  expect(found.at(-1)).toMatch(/misspelling of it|is missing/);
  const ofValues = await judge({ items: { enum: wanted } }, JSON.stringify(names("pots", 1000)));
  expect(ofValues[19]).toContain('Did you mean "postNumber19"?');
});

it("reports data that is nested too deeply, and ends", async () => {
  const depth = 100_000;
  const [found] = await judge(
    { $ref: "#/$defs/a", $defs: { a: { items: { $ref: "#/$defs/a" } } } },
    "[".repeat(depth) + "]".repeat(depth),
  );
  expect(found).toMatch(/^1:1: cannot be validated: it is nested too deeply/);
});

it("reports a schema that refers to itself without end", async () => {
  const [found] = await judge({ $ref: "#" }, "1");
  expect(found).toMatch(/the schema refers to itself without end$/);
});

describe("a mistake in a schema is reported with its place there", () => {
  it.each([
    ["that is not JSON", '{\n  "type": "string",\n}', "3:1: is not JSON"],
    [
      "with an unknown type",
      '{\n  "type": "strng"\n}',
      '2:11: type: must be "array", "boolean", "integer", "null", "number", "object" or "string", not the string "strng". Did you mean "string"?',
    ],
    [
      "with a word for a number",
      '{"properties": {"a": {"minimum": "1"}}}',
      '1:34: properties.a.minimum: must be a number, not the string "1": leave out the quotes',
    ],
    ["with a negative length", '{"minLength": -1}', "1:15: minLength: must be at least 0, not the number -1"],
    [
      "with a pattern that is no regular expression",
      '{"pattern": "(a"}',
      '1:13: pattern: must be a regular expression, not the string "(a"',
    ],
    [
      "with such a pattern for names",
      '{"patternProperties": {"(a": {}}}',
      '1:24: patternProperties["(a"]: must be a regular expression, not the string "(a"',
    ],
    [
      "with a reference to nothing",
      '{"$ref": "#/$defs/a"}',
      '1:10: $ref: leads to "#/$defs/a", which does not exist in the schema',
    ],
    [
      "with a reference that is not escaped",
      '{"$ref": "#/$defs/ß", "$defs": {"ß": {}}}',
      '1:10: $ref: must be a URL or a part of one, in ASCII, not the string "#/$defs/ß"',
    ],
    [
      "with a reference to a name that no schema has",
      '{"$ref": "#a", "$defs": {"a": {"$anchor": "b"}}}',
      '1:10: $ref: leads to "#a", which does not exist in the schema',
    ],
    [
      "with a reference to another document",
      '{"$ref": "https://example.com/a.json"}',
      '1:10: $ref: leads to "https://example.com/a.json", which is another document. Nothing is fetched: copy what it needs to "$defs"',
    ],
    [
      "with a reference to a file",
      '{"$ref": "file:///etc/passwd"}',
      '1:10: $ref: leads to "file:///etc/passwd", which is another document. Nothing is fetched: copy what it needs to "$defs"',
    ],
    [
      "of an older version",
      '{"$schema": "http://json-schema.org/draft-07/schema#"}',
      '1:13: $schema: must be "https://json-schema.org/draft/2020-12/schema": other versions of JSON Schema are not supported',
    ],
    [
      "with a misspelt keyword",
      '{"propertes": {"number": {}}}',
      '1:2: propertes: is not a keyword of JSON Schema. Did you mean "properties"?',
    ],
    [
      "with a keyword in another spelling, within one that is misspelt",
      '{"Properties": {"a": {"additionalproperties": false}}}',
      '1:2: Properties: is not a keyword of JSON Schema. Did you mean "properties"?',
      '1:23: Properties.a.additionalproperties: is not a keyword of JSON Schema. Did you mean "additionalProperties"?',
    ],
    [
      "with a keyword without its $",
      '{"items": {"ref": "#/$defs/a"}, "$defs": {"a": {}}}',
      '1:12: items.ref: is not a keyword of JSON Schema. Did you mean "$ref"?',
    ],
    [
      "with a keyword of OpenAPI",
      '{"allOf": [{"type": "string", "nullable": true}]}',
      '1:31: allOf[0].nullable: is a keyword of OpenAPI 3.0, not of JSON Schema: write "type": ["string", "null"]',
    ],
    ["that is no schema", "[]", "1:1: must be an object or true or false, not an array"],
  ])("%s", async (_what, schema, ...told) => {
    const read = await readSchema(schema);
    expect("findings" in read && read.findings.map((finding) => findingInWords("s", finding).slice(2))).toEqual(told);
  });

  it("and members of other vocabularies, of the author's own, and names in data are left alone", async () => {
    const properties = {
      propertes: {},
      require: { note: "x", example: 1, "x-type": "a", unit: "kg", discriminator: {} },
    };
    const schema = { properties, default: { propertes: 1 }, examples: [{ typ: 1 }], dependentRequired: { typ: ["a"] } };
    expect(await judge({ ...schema, label: "typ", readonly: true, item: "one", formats: ["a"] }, "{}")).toEqual([]);
  });
});

it("follows references within the schema, by pointer, anchor and identifier", async () => {
  const schema = {
    $defs: { a: { type: "string" }, b: { $anchor: "b", type: "string" }, c: { $id: "c.json", type: "string" } },
    prefixItems: [{ $ref: "#/$defs/a" }, { $ref: "#b" }, { $ref: "c.json" }],
  };
  expect(await judge(schema, "[1, 2, 3]")).toHaveLength(3);
});

it("looks for references in members of any name, and in no data", async () => {
  expect(await judge({ const: { $ref: "#/nothing" } }, "1")).toHaveLength(1);
  const read = await readSchema('{"properties": {"const": {"$ref": "#/nothing"}}}');
  expect(read).toMatchObject({ findings: [{ message: expect.stringMatching(/^leads to "#\/nothing"/) }] });
});

it("follows references with escaped letters", async () => {
  const schema = { $ref: "#/$defs/Stra%C3%9Fe%25", $defs: { "Straße%": { type: "string" } } };
  expect(await judge(schema, "1")).toHaveLength(1);
  expect(await judge(schema, '"a"')).toEqual([]);
});

it("judges other schemas as before after one that calls itself the meta-schema", async () => {
  const hostile = { $id: "https://json-schema.org/draft/2020-12/schema", type: "string" };
  expect("findings" in (await readSchema(JSON.stringify(hostile)))).toBe(true);
  expect(await judge({ type: "number" }, '"a"')).toHaveLength(1);
  expect("findings" in (await readSchema('{"type": "nonsense"}'))).toBe(true);
});
