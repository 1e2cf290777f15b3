/** What an editor offers for data that has a schema. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { suggestMembers, suggestValues } from "../../../clients/data-schema/suggestions.ts";

const SCHEMA: unknown = JSON.parse(
  await readFile(new URL("../../../examples/e-invoice/data.schema.json", import.meta.url), "utf8"),
);

it("offers the members of an object, and says which are required and what they mean", () => {
  expect(suggestMembers(SCHEMA, []).map(({ name }) => name)).toContain("buyer_reference");
  expect(suggestMembers(SCHEMA, ["lines", 3]).find(({ name }) => name === "unit")).toEqual({
    name: "unit",
    description: "A unit of UN/ECE Recommendation 20: pieces or hours",
    isRequired: true,
  });
});

it("offers the values of a list, and true, false and null where they are allowed", () => {
  expect(suggestValues(SCHEMA, ["lines", 0, "unit"])).toEqual(['"H87"', '"HUR"']);
  expect(suggestValues({ items: { type: ["boolean", "null"] } }, [0])).toEqual(["true", "false", "null"]);
  expect(suggestValues(SCHEMA, ["number"])).toEqual([]);
});

it("follows references, combinations and items by their place", () => {
  const schema = {
    $ref: "#/$defs/a",
    $defs: { a: { allOf: [{ properties: { x: { prefixItems: [{ const: 1 }], items: { const: 2 } } } }] } },
    additionalProperties: { properties: { y: {} } },
  };
  expect(suggestValues(schema, ["x", 0])).toEqual(["1"]);
  expect(suggestValues(schema, ["x", 1])).toEqual(["2"]);
  expect(suggestMembers(schema, ["other"]).map(({ name }) => name)).toEqual(["y"]);
});

it("ends for a schema that refers to itself, and for one that branches without end", () => {
  const branches = { allOf: [{ $ref: "#" }, { $ref: "#" }, { $ref: "#" }], properties: { a: {} } };
  expect(suggestMembers(branches, ["b", "c"])).toEqual([]);
  expect(suggestMembers(branches, []).map(({ name }) => name)).toEqual(["a"]);
});
