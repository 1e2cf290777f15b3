import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ATTEMPT_FAILURES, CAUSES, causeFields, parseCause } from "../../rules/causes.ts";
import { BACKEND_CAPACITY_CAUSES, REFUSALS } from "../support/causes.ts";
import { tableOfPage } from "../support/readers/page-table.ts";

it.each([
  ["### Time-outs", Object.keys(CAUSES.render_timeout)],
  ["### 429 and 503", Object.keys(REFUSALS)],
  ["### Failed attempts", Object.keys(ATTEMPT_FAILURES)],
])("the operator's table has every cause, and no other: %s", async (heading, causes) => {
  const rows = await tableOfPage("monitoring.md", heading);
  expect(rows.map(([cause]) => cause)).toEqual(causes);
  // `npm run generate` puts the text of log lines between these marks.
  const quoted = rows.map((cells) => /<!--next:(\w+)-->/.exec(cells.at(-1) ?? "")?.[1]);
  expect(quoted).toEqual(causes);
});

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

it("the alert on refusals of the edge counts all that the edge decides but the rate limit", async () => {
  const alerts = await readFile(join(ROOT, "deploy/alerts.yml"), "utf8");
  const counted = [...alerts.matchAll(/service_edge_refusals_total\{origin="",cause=~"([^"]+)"/g)].map(
    ([, causes]) => causes,
  );
  const others = new Set<string>(["rate_limit", ...BACKEND_CAPACITY_CAUSES]);
  const causes = Object.keys(CAUSES.render_queue_full).filter((cause) => !others.has(cause));
  expect(counted).toEqual([causes.join("|"), causes.join("|")]);
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
