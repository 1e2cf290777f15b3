/** How the settings of edge and backend relate, and that their tables name every one of them. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { BACKEND_INTEGER_SETTINGS } from "../../backend/settings.ts";
import { EDGE_INTEGER_SETTINGS } from "../../edge/integer-settings.ts";
import { LIMIT_SETTINGS } from "../../rules/limits.ts";

const ROOT = new URL("../../", import.meta.url);
const readPage = (path: string) => readFile(new URL(path, ROOT), "utf8");

describe("by default", () => {
  const { queueDeadlineSeconds, renderTimeoutSeconds, graceSeconds, renderCpuSeconds } = BACKEND_INTEGER_SETTINGS;
  const longestSeconds = queueDeadlineSeconds.default + renderTimeoutSeconds.default;

  it("a stopping backend lets every request that it has taken finish", () => {
    expect(graceSeconds.default).toBeGreaterThan(longestSeconds);
  });

  it("the edge waits longer than a backend can take", () => {
    expect(EDGE_INTEGER_SETTINGS.backendTimeoutSeconds.default).toBeGreaterThan(longestSeconds);
    expect(EDGE_INTEGER_SETTINGS.backendTimeoutSeconds.default).toBeGreaterThan(graceSeconds.default);
  });

  it("a render on one thread meets its time-out no later than its limit of processor time", () => {
    expect(renderCpuSeconds.default).toBeGreaterThanOrEqual(renderTimeoutSeconds.default);
  });

  it("a full request may wait in the queue, and a full archive has its temporary space", () => {
    const { maxQueuedBytes, maxTempBytes } = BACKEND_INTEGER_SETTINGS;
    expect(maxQueuedBytes.default).toBeGreaterThan(LIMIT_SETTINGS.max_request_body_bytes.default);
    const largestRender = LIMIT_SETTINGS.max_request_body_bytes.default + LIMIT_SETTINGS.max_output_bytes.default;
    expect(maxTempBytes.default).toBeGreaterThan(largestRender);
  });
});

it("the README names every setting that the code reads", async () => {
  const readme = await readPage("README.md");
  for (const path of ["backend/settings.ts", "edge/settings.ts", "edge/integer-settings.ts", "rules/limits.ts"]) {
    const names = (await readPage(path)).match(/SERVICE_[A-Z_]+[A-Z]/g) ?? [];
    for (const name of new Set(names)) expect(readme, `${name} of ${path}`).toContain(name);
  }
});
