/** The interface description against the rules it is made from; `test/service` holds the running service against it. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { FILES_VECTORS, OUTPUT_VECTORS } from "../../rules/conformance-vectors.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import { problemExample } from "../../scripts/generate/openapi/examples.ts";
import { PROBLEM_CODES, problemSchemaName } from "../../scripts/generate/openapi/response-schemas.ts";
import { CONTRACT } from "../support/contract.ts";
import { InterfaceDescription } from "../support/interface-description.ts";

const description = new InterfaceDescription(
  JSON.parse(await readFile(new URL("../../edge/static/openapi.json", import.meta.url), "utf8")),
);
const validatorOf = (name: string) => description.validator(`/components/schemas/${name}`);

describe("problems", () => {
  it("are described for every code of the contract, with the context that the contract has", () => {
    expect(PROBLEM_CODES.toSorted()).toEqual(Object.keys(CONTRACT).toSorted());
    const contract = new Map(Object.entries(CONTRACT));
    for (const code of PROBLEM_CODES) {
      const { context } = Object(description.document.components.schemas[problemSchemaName(code)]).properties;
      const members = [context, ...(context.anyOf ?? [])].flatMap(({ properties = {} }) => Object.keys(properties));
      expect([...new Set(members)].toSorted(), code).toEqual(contract.get(code)?.context.toSorted());
    }
  });

  it.each(PROBLEM_CODES)("have a valid example: %s", (code) => {
    const { value } = problemExample(code);
    expect(value).toMatchObject({ code, status: PROBLEMS[code].status });
    const validate = validatorOf(problemSchemaName(code));
    expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...value, status: 418 })).toBe(false);
    expect(validate({ ...value, context: "none" })).toBe(false);
  });

  it("may gain members", () => {
    const { value } = problemExample("render_queue_full");
    const more = { ...value, context: { ...value.context, later: 1 }, later: 1 };
    expect(validatorOf(problemSchemaName("render_queue_full"))(more)).toBe(true);
  });

  it("are listed for the statuses that the contract has for a render", () => {
    const { responses = {} } = description.document.paths["/v1/render"]?.post ?? {};
    expect(Object.keys(responses)).toEqual("200 400 403 404 405 408 413 422 429 500 503".split(" "));
  });
});

type Found = readonly [pointer: string, object: Readonly<Record<string, unknown>>];

/** Every object of the description with its JSON pointer, except what is in examples. */
function* objectsIn(value: unknown, pointer = ""): Generator<Found> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [pointer, Object(value)];
  for (const [name, member] of Object.entries(value)) {
    const isOfExamples = name === "example" || name === "examples";
    if (!isOfExamples) yield* objectsIn(member, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  }
}

/** What generators of clients trip over: docs/recipes.md#generated-clients says which. */
describe("everywhere in the description", () => {
  const { paths, components } = description.document;
  const all = [...objectsIn({ paths, components })];
  const withMember = (name: string) => all.filter(([, object]) => Object.hasOwn(object, name));

  it("a constant says its type", () => {
    const constants = withMember("const");
    expect(constants.length).toBeGreaterThan(60);
    for (const [pointer, object] of constants) {
      const type = Number.isInteger(object.const) ? "integer" : typeof object.const;
      expect(object.type, pointer).toBe(type);
    }
  });

  it("a default is no object or array, and one that the schema takes, which says its type", () => {
    const defaults = withMember("default");
    expect(defaults.length).toBeGreaterThan(10);
    for (const [pointer, object] of defaults) {
      expect(object.type ?? object.anyOf, pointer).toBeDefined();
      expect(object.default === null || typeof object.default !== "object", pointer).toBe(true);
      expect(description.validator(pointer)(object.default), pointer).toBe(true);
    }
  });

  // `npm run check:openapi` asks whether each schema takes its examples.
  it("text of a pattern in a header has an example", () => {
    const patterns = withMember("pattern").filter(([pointer]) => pointer.startsWith("/components/headers/"));
    expect(patterns.map(([pointer]) => pointer)).toEqual(["/components/headers/RequestId/schema"]);
    for (const [pointer, { examples }] of patterns) expect(examples, pointer).toHaveLength(1);
  });

  it("a discriminator is a member that every variant requires, so `output` has none", () => {
    const discriminated = withMember("discriminator");
    expect(discriminated.length).toBeGreaterThan(1);
    for (const [pointer, { discriminator, oneOf }] of discriminated) {
      const { propertyName, mapping } = Object(discriminator);
      expect(Object.values(mapping), pointer).toEqual(Object.values(Object(oneOf)).map((one) => Object(one).$ref));
      for (const [value, reference] of Object.entries(mapping)) {
        const [, variant] = all.find(([found]) => `#${found}` === reference) ?? [];
        expect(variant?.required, String(reference)).toContain(propertyName);
        expect(Object(variant?.properties)[propertyName], String(reference)).toMatchObject({ const: value });
      }
    }
    expect(Object(components.schemas.RenderOutput)).not.toHaveProperty("discriminator");
  });

  it("`output` says every `format` at once as well, and a problem's schema has a name", () => {
    const { properties, anyOf } = Object(components.schemas.RenderOutput);
    const formats = Object.values(Object(anyOf)).map((variant) => {
      const [, object] = all.find(([pointer]) => `#${pointer}` === Object(variant).$ref) ?? [];
      return Object(object?.properties).format.const;
    });
    expect(properties.format.enum).toEqual(formats);
    const bodies = Object.values(components.responses).flatMap(({ content }) => Object.values(content));
    expect(bodies.length).toBeGreaterThan(8);
    for (const body of bodies) expect(Object.keys(Object(Object(body).schema))).toEqual(["$ref"]);
  });
});

/** What one field is by itself can be written as a schema; rules over several cannot. */
const RULES_OF_THE_SCHEMA = new Set([
  "page_selection_too_long",
  "page_selection_too_many_segments",
  "page_selection_malformed",
]);

describe("the schema of a request", () => {
  const validate = validatorOf("RenderRequest");
  const isSet = <Value>(value: Value | null | undefined): value is Value => value !== null && value !== undefined;

  it("takes every set of keys that the service takes, and refuses every key that it refuses", () => {
    const verdicts = { taken: 0, refused: 0 };
    for (const { keys, accepted, code } of FILES_VECTORS) {
      const files = Object.fromEntries(keys.map((key) => [key, { encoding: "text", content: "" }]));
      const isTaken = validate({ source: "x", files });
      if (accepted) expect(isTaken, JSON.stringify(keys)).toBe(true);
      if (code === "invalid_template_path") expect(isTaken, JSON.stringify(keys)).toBe(false);
      verdicts[isTaken ? "taken" : "refused"]++;
    }
    expect(Math.min(verdicts.taken, verdicts.refused)).toBeGreaterThan(5);
  });

  it("takes every output that the service takes, and refuses every field that it refuses", () => {
    const verdicts = { taken: 0, refused: 0 };
    for (const { output, accepted, rule } of OUTPUT_VECTORS) {
      const isTaken = validate({ source: "x", output });
      const isOfTheSchema = !isSet(rule) || RULES_OF_THE_SCHEMA.has(rule);
      expect(isTaken, JSON.stringify(output)).toBe(accepted || !isOfTheSchema);
      verdicts[isTaken ? "taken" : "refused"]++;
    }
    expect(Math.min(verdicts.taken, verdicts.refused)).toBeGreaterThan(20);
  });
});
