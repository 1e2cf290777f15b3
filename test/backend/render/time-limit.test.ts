/** How long a render may go on, and what it is answered when it may not. */
import { expect, it } from "vitest";
import { CLIENT_GONE } from "../../../backend/render/outcome.ts";
import { TimeLimit } from "../../../backend/render/time-limit.ts";
import { readBackendSettings } from "../../../backend/start/settings.ts";

const settingsOf = (timeoutSeconds: string, cpuSeconds: string) =>
  readBackendSettings({ SERVICE_RENDER_TIMEOUT_SECONDS: timeoutSeconds, SERVICE_RENDER_CPU_SECONDS: cpuSeconds });

it("is the render timeout, from the start", () => {
  const time = new TimeLimit(settingsOf("600", "300"), new AbortController().signal);
  expect(time.millisecondsLeft).toBeLessThanOrEqual(600_000);
  expect(time.millisecondsLeft).toBeGreaterThan(300_000);
  expect(time.over.aborted).toBe(false);
});

it("ends after the render timeout, with a problem", async () => {
  const time = new TimeLimit(settingsOf("1", "1"), new AbortController().signal);
  await expect.poll(() => time.over.aborted).toBe(true);
  await expect.poll(() => time.millisecondsLeft).toBe(1);
  expect(time.failure()).toMatchObject({ cause: "wall_clock", context: { timeout_secs: 1 } });
});

it("is shorter for writing the files of a request, and says so", async () => {
  const time = new TimeLimit(settingsOf("600", "300"), new AbortController().signal);
  const fillOver = time.fillOver();
  expect(fillOver.aborted).toBe(false);
  await expect.poll(() => fillOver.aborted).toBe(true);
  expect(time.over.aborted).toBe(false);
  expect(time.failure()).toMatchObject({ cause: "writing_files", context: { timeout_secs: 600 } });
});

it("ends when the client goes away, without a problem for anyone", () => {
  const client = new AbortController();
  const time = new TimeLimit(settingsOf("600", "300"), client.signal);
  client.abort();
  expect(time.over.aborted).toBe(true);
  expect(time.failure()).toBe(CLIENT_GONE);
});
