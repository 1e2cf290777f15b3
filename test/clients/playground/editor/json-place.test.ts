/** The place of the cursor in data that is being written. `|` is the cursor. */
import { expect, it } from "vitest";
import { placeInJson } from "../../../../clients/playground/editor/json-place.ts";

function placeOf(marked: string) {
  const position = marked.indexOf("|");
  const place = placeInJson(marked.replace("|", ""), position);
  return place === null ? null : [place.isName ? "name" : "value", ...place.path];
}

it.each([
  ["|", ["value"]],
  ["{|", ["name"]],
  ["{ | }", ["name"]],
  ['{"a|', ["name"]],
  ['{"a|"}', ["name"]],
  ['{"a|": 1}', ["name"]],
  ['{"a"|', null],
  ['{"a": |', ["value", "a"]],
  ['{"a": "x|"}', ["value", "a"]],
  ['{"a": tr|', ["value", "a"]],
  ['{"a": 1|}', ["value", "a"]],
  ['{"a": 1 |}', null],
  ['{"a": "x"|}', null],
  ['{"a": 1, |', ["name"]],
  ['{"a": {"b": [1, {"c": "|', ["value", "a", "b", 1, "c"]],
  ['{"a": {"b": [1, {"c": 2}, |]', ["value", "a", "b", 2]],
  ['{"a": [[1, 2], [3, |', ["value", "a", 1, 1]],
  ['{"a \\" b": |', ["value", 'a " b']],
  ['{"a": 1} |', null],
])("%s", (marked, place) => {
  expect(placeOf(marked)).toEqual(place);
});

it("finds the names of the object before the cursor, without the one that is being written", () => {
  const text = '{"a": {"x": 1}, "b": [{"y": 2}], "c", "d": 3}';
  expect(placeInJson(text, text.indexOf('"c') + 2)?.names).toEqual(new Set(["a", "b"]));
});

it("reads any text that people write in one pass, and no longer one", () => {
  const deep = "[".repeat(200_000);
  expect(placeInJson(deep, 100_000)?.path).toHaveLength(100_000);
  expect(placeInJson(`[${"1,".repeat(100_000)}`, 1)?.path).toEqual([0]);
  expect(placeInJson(`["${"\\n".repeat(100_000)}`, 5)).not.toBeNull();
  expect(placeInJson(" ".repeat(256 * 1024 + 1), 0)).toBeNull();
});
