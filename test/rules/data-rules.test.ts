/** Objects that Typst would turn into dates, at the bounds of the calendar. Any others: json/typst-reads-json.test.ts. */
import { expect, it } from "vitest";
import { errorsOf, problemOf } from "../support/rules/bodies.ts";

const KEY = '"$__toml_private_datetime"';

const DATES = [
  ...["2020-01-31", "2021-02-28", "2020-02-29", "2000-02-29", "0000-02-29", "2021-04-30", "2021-06-30", "2021-09-30"],
  ...["2021-11-30", "2021-12-31", "+2021-12-01", "-2021-12-01", "9999-12-31", "00:00:00", "23:59:59", "19:00:00"],
  ...["2021-12-01T00:00:00", "2021-12-01T23:59:59Z", "+2021-12-01T23:59:59Z"],
];
const NO_DATES = [
  ...["2020-01-32", "2021-02-29", "2020-02-30", "1900-02-29", "2100-02-29", "2021-04-31", "2021-06-31", "2021-09-31"],
  ...["2021-11-31", "2021-12-32", "2021-00-01", "2021-13-01", "2021-01-00", "2021-1-01", "20210-01-01", "24:00:00"],
  ...["23:60:00", "23:59:60", "30:00:00", "1:00:00", "00:00", "+00:00:00", "00:00:00Z", "", "2021-12-01T24:00:00"],
  ...["2021-12-01T", "2021-12-01Z", "2021-12-01t00:00:00", "2021-12-01T00:00:00ZZ", " 2021-12-01", "2021-12-01\\n"],
];

it.each([...DATES, ...NO_DATES])("%j is a date, or none", (value) => {
  const errors = errorsOf(problemOf(`{"source":"x","data":{${KEY}:"${value}"}}`));
  expect(errors).toEqual(DATES.includes(value) ? ["data.$__toml_private_datetime: reserved_key"] : []);
});

it("an object with the reserved key is found at the deepest level that is read", () => {
  const data = `${"[".repeat(126)}{${KEY}:"12:00:00"}${"]".repeat(126)}`;
  expect(errorsOf(problemOf(`{"source":"x","data":${data}}`))).toEqual([expect.stringMatching(/reserved_key$/)]);
});
