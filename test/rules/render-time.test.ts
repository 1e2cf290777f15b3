/** The times of a render, layer by layer: which settings are refused, and how long a request may wait for a slot. */
import { describe, expect, it } from "vitest";
import { queueDeadlineMilliseconds, readRenderTime, renderTimeoutWithin } from "../../rules/render-time.ts";
import { SettingError } from "../../rules/settings.ts";

const environment = (queue: number | undefined, render: number | undefined, backend?: number) => ({
  SERVICE_QUEUE_DEADLINE_SECONDS: queue?.toString(),
  SERVICE_RENDER_TIMEOUT_SECONDS: render?.toString(),
  SERVICE_BACKEND_TIMEOUT_SECONDS: backend?.toString(),
});

describe("the time budget of the edge", () => {
  it("is ten seconds more than queue deadline and render timeout together, if it is not set", () => {
    expect(readRenderTime(environment(5, 7)).backendTimeoutSeconds).toBe(22);
  });

  it("may be one second more than queue deadline and render timeout together", () => {
    expect(readRenderTime(environment(5, 7, 13)).backendTimeoutSeconds).toBe(13);
  });

  it.each([12, 11, 1])("may not be %i seconds where both together are 12", (backend) => {
    expect(() => readRenderTime(environment(5, 7, backend))).toThrow(SettingError);
    expect(() => readRenderTime(environment(5, 7, backend))).toThrow(/SERVICE_BACKEND_TIMEOUT_SECONDS.*\(12\)/);
  });
});

it.each([undefined, 1, 7, 600])(
  "the queue deadline is ten seconds more than a render timeout of %i seconds, if it is not set",
  (set) => {
    const render = set ?? 20;
    expect(readRenderTime(environment(undefined, set))).toEqual({
      queueDeadlineSeconds: render + 10,
      renderTimeoutSeconds: render,
      backendTimeoutSeconds: 2 * render + 20,
    });
  },
);

it.each([
  ["queue deadline", environment(0, 7)],
  ["queue deadline", environment(611, 7)],
  ["render timeout", environment(5, 0)],
  ["render timeout", environment(5, 601)],
  ["time budget", environment(5, 7, 1221)],
])("a %s outside its range is refused", (_what, settings) => {
  expect(() => readRenderTime(settings)).toThrow(SettingError);
});

describe("the time for waiting", () => {
  const settings = { queueDeadlineSeconds: 20, renderTimeoutSeconds: 30 };

  it.each([
    ["is the queue deadline if the edge sets no time budget", Number.POSITIVE_INFINITY, 20_000],
    ["is the queue deadline while a whole render fits in after it", 50_000, 20_000],
    ["is half of a shorter time budget, so that there is time to render", 30_000, 15_000],
    ["is half of a time budget that no whole render fits in", 10_000, 5000],
    ["is nothing when the edge does not wait any more", 0, 0],
  ])("%s", (_what, timeBudget, milliseconds) => {
    expect(queueDeadlineMilliseconds(settings, timeBudget)).toBe(milliseconds);
  });

  it.each([
    [Number.POSITIVE_INFINITY, 20],
    [21_000, 20],
    [20_999, 19],
    [2000, 1],
    [0, 1],
    [-5000, 1],
  ])(
    "lets a render with %d ms left take %d s, so that the backend answers before the edge gives up",
    (left, seconds) => {
      expect(renderTimeoutWithin(20, left)).toBe(seconds);
    },
  );
});
