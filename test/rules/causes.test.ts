import { expect, it } from "vitest";
import { ATTEMPT_FAILURES, CAUSES, inSeconds } from "../../rules/causes.ts";
import { BACKEND_CAUSES, EDGE_CAUSES } from "../support/causes.ts";
import { tableOfPage } from "../support/page-table.ts";

const REFUSALS = [...Object.keys(CAUSES.render_queue_full), ...Object.keys(CAUSES.service_unavailable)];

it.each([
  ["### Time-outs", Object.keys(CAUSES.render_timeout)],
  ["### 429 and 503", REFUSALS],
  ["### Failed attempts", Object.keys(ATTEMPT_FAILURES)],
])("the operator's table has every cause, and no other: %s", async (heading, causes) => {
  const rows = await tableOfPage("monitoring.md", heading);
  expect(rows.map(([cause]) => cause)).toEqual(causes);
});

it("every cause of a 429 or 503 is provoked at the edge or at a backend", () => {
  expect(new Set<string>([...EDGE_CAUSES, ...BACKEND_CAUSES])).toEqual(new Set(REFUSALS));
});

it("no two causes or failures have one name, by which metrics tell them apart", () => {
  const names = [...REFUSALS, ...Object.keys(ATTEMPT_FAILURES)];
  expect(new Set(names).size).toBe(names.length);
});

it.each([
  [1, "1 second"],
  [2, "2 seconds"],
])("a time of %i is written as %s", (seconds, words) => {
  expect(inSeconds(seconds)).toBe(words);
});
