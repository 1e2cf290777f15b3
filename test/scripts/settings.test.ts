/** How the settings of edge and backend relate, and that the tables of the docs name all of them. */
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { BACKEND_INTEGER_SETTINGS, maxTempBytesPerRender } from "../../backend/settings.ts";
import { EDGE_INTEGER_SETTINGS } from "../../edge/settings.ts";
import { DEFAULT_LIMITS, LIMIT_SETTINGS } from "../../rules/limits.ts";

const ROOT = new URL("../../", import.meta.url);
const readPage = (path: string) => readFile(new URL(path, ROOT), "utf8");

describe("by default", () => {
  const { queueDeadlineSeconds, renderTimeoutSeconds, graceSeconds, renderCpuSeconds } = BACKEND_INTEGER_SETTINGS;
  const longestSeconds = queueDeadlineSeconds.default + renderTimeoutSeconds.default;

  it("a stopping backend lets every request that it has accepted finish", () => {
    expect(graceSeconds.default).toBeGreaterThan(longestSeconds);
  });

  it("the edge waits longer than a backend can take", () => {
    expect(EDGE_INTEGER_SETTINGS.backendTimeoutSeconds.default).toBeGreaterThan(longestSeconds);
    expect(EDGE_INTEGER_SETTINGS.backendTimeoutSeconds.default).toBeGreaterThan(graceSeconds.default);
  });

  it("a request that waits behind the longest render gets the slot before the queue deadline", () => {
    expect(renderTimeoutSeconds.default).toBeLessThan(queueDeadlineSeconds.default);
    expect(renderCpuSeconds.default).toBeLessThan(renderTimeoutSeconds.default);
  });

  it("two callers can each have a full request in memory, and a full archive in temporary space", () => {
    const { maxBodyMemoryBytes, maxTempBytes } = BACKEND_INTEGER_SETTINGS;
    expect(maxBodyMemoryBytes.default).toBeGreaterThanOrEqual(2 * LIMIT_SETTINGS.max_request_body_bytes.default);
    expect(maxTempBytes.default).toBeGreaterThanOrEqual(2 * maxTempBytesPerRender(DEFAULT_LIMITS));
  });
});

it("the tables of settings and limits have every setting that the code reads", async () => {
  const pages = [await readPage("docs/settings.md"), await readPage("docs/api.md")];
  const cells = pages.flatMap((page) => page.split(/\n\| | \| |, /));
  for (const path of ["backend/settings.ts", "edge/settings.ts", "rules/limits.ts"]) {
    const names = (await readPage(path)).match(/\bSERVICE_[A-Z_]+[A-Z]/g) ?? [];
    for (const name of new Set(names)) expect(cells, `${name} of ${path}`).toContain(`\`${name}\``);
  }
});

it("no page names a setting that nothing reads", async () => {
  const filesIn = async (folder: string, names: RegExp) => {
    const files = await readdir(new URL(folder, ROOT), { recursive: true });
    return files.filter((name) => names.test(name)).map((name) => `${folder}/${name}`);
  };
  const rooms = "backend edge protocol rules scripts clients typst test/browser test/long".split(" ");
  const sources = (await Promise.all(rooms.map((room) => filesIn(room, /\.(?:ts|mjs)$/)))).flat();
  const settingsIn = async (path: string) => (await readPage(path)).match(/\bSERVICE_[A-Z_]+[A-Z]/g) ?? [];
  const known = new Set((await Promise.all(sources.map(settingsIn))).flat());
  const pages = "README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md examples/README.md".split(" ");
  const removals = (await readPage("CHANGELOG.md")).match(/^### Removed$[\s\S]*?^##/gm) ?? [];
  for (const page of [...pages, ...(await filesIn("docs", /\.md$/))]) {
    const wasRemoved = (name: string) => page === "CHANGELOG.md" && removals.some((text) => text.includes(name));
    expect(
      (await settingsIn(page)).filter((name) => !known.has(name) && !wasRemoved(name)),
      page,
    ).toEqual([]);
  }
});
