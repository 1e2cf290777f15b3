/** The check that renders leave nothing behind: no processes, render directories, slots or temporary space. */
import { expect } from "vitest";
import { processesOf } from "./processes.ts";
import type { TestBackend } from "./test-backend.ts";

/** Waits until no render has left anything. */
export async function expectNothingLeft(backend: TestBackend): Promise<void> {
  await expect.poll(() => backend.projects()).toEqual([]);
  await expect.poll(() => processesOf(backend.workDirectory)).toEqual([]);
  const gauges = ["service_renders_running", "service_renders_waiting", "service_temp_reserved_bytes"];
  await expect.poll(() => Promise.all(gauges.map((name) => backend.metric(name)))).toEqual([0, 0, 0]);
}
