/** The generated files on a machine that has other cores than the one on which they were checked in. */
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { expect, it, vi } from "vitest";
import { BACKEND_INTEGER_SETTINGS } from "../../backend/start/settings.ts";
import { generatedFiles } from "../../scripts/generated-files.ts";

const CORES = vi.hoisted(() => 61);
vi.mock("node:os", async (original) => ({ ...(await original<object>()), availableParallelism: () => CORES }));

it("every generated file is checked in as it is generated, whatever the number of cores", async () => {
  expect(availableParallelism()).toBe(CORES);
  expect(BACKEND_INTEGER_SETTINGS.maxConcurrentRenders.default).toBe(CORES);
  for (const { path, content } of await generatedFiles()) {
    expect(await readFile(path, "utf8"), path).toBe(content);
  }
});
