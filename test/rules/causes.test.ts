import { expect, it } from "vitest";
import { ATTEMPT_FAILURES, CAUSES, parseCause } from "../../rules/causes.ts";
import { causeFields } from "../../rules/next-steps.ts";
import { REFUSALS } from "../support/causes.ts";
import { tableOfPage } from "../support/readers/page-table.ts";

it.each([
  ["### Time-outs", Object.keys(CAUSES.render_timeout)],
  ["### 429 and 503", Object.keys(REFUSALS)],
  ["### Failed attempts", Object.keys(ATTEMPT_FAILURES)],
])("the operator's table has every cause, and no other: %s", async (heading, causes) => {
  const rows = await tableOfPage("monitoring.md", heading);
  expect(rows.map(([cause]) => cause)).toEqual(causes);
  // `npm run generate` puts the text of log lines between these marks.
  const quoted = rows.map((cells) => /<!-- next step: (\w+) -->/.exec(cells.at(-1) ?? "")?.[1]);
  expect(quoted).toEqual(causes);
});

it("no two causes or failures have one name, by which metrics tell them apart", () => {
  const names = [
    ...Object.keys(CAUSES.render_queue_full),
    ...Object.keys(CAUSES.service_unavailable),
    ...Object.keys(ATTEMPT_FAILURES),
  ];
  expect(new Set(names).size).toBe(names.length);
});

it.each(["constructor", "toString", "hasOwnProperty", "__proto__", "no_such_cause", ""])(
  "nobody can name a cause %j",
  (name) => {
    for (const code of Object.keys(CAUSES)) expect(parseCause(code, name)).toBe(undefined);
    expect(parseCause(name, "slots_busy")).toBe(undefined);
    expect(causeFields({ code: name, cause: "slots_busy" })).toEqual({});
  },
);
