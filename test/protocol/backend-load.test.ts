/** The header field in which a backend tells the edge how busy it is. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type BackendLoad, formatBackendLoad, MAX_SLOTS, parseBackendLoad } from "../../protocol/backend-load.ts";

const LOAD: BackendLoad = { running: 1, waiting: 0, slots: 2, isDraining: false };

it.each([
  ["running=1,waiting=0,slots=2", LOAD],
  ["running=1,waiting=0,slots=2,draining", { ...LOAD, isDraining: true }],
])("%s is written and read", (text, load) => {
  expect(formatBackendLoad(load)).toBe(text);
  expect(parseBackendLoad(text)).toEqual(load);
});

it("a load stays the same when written and read", () => {
  const count = fc.integer({ min: 0, max: 999_999_999 });
  const slots = fc.integer({ min: 1, max: MAX_SLOTS });
  const load = fc.record({ running: count, waiting: count, slots, isDraining: fc.boolean() });
  fc.assert(
    fc.property(load, (value) => {
      expect(parseBackendLoad(formatBackendLoad(value))).toEqual(value);
    }),
  );
});

it("a backend without slots is read as one with a slot, because the edge divides by them", () => {
  expect(parseBackendLoad("running=0,waiting=0,slots=0")?.slots).toBe(1);
});

it.each([
  null,
  "",
  "running=1",
  "running=1,waiting=0",
  "waiting=0,running=1,slots=2",
  "running=1, waiting=0, slots=2",
  "running=-1,waiting=0,slots=2",
  "running=1.5,waiting=0,slots=2",
  "running=1e3,waiting=0,slots=2",
  "running=1234567890,waiting=0,slots=2",
  "running=1,waiting=0,slots=2,leaving",
  "running=1,waiting=0,slots=2,draining,",
  "Running=1,waiting=0,slots=2",
  "running=0,waiting=0,slots=257",
  "running=0,waiting=0,slots=999999999",
])("%j tells nothing", (value) => {
  expect(parseBackendLoad(value)).toBeNull();
});

it("a count of nine digits is the longest that is read", () => {
  expect(parseBackendLoad("running=999999999,waiting=0,slots=2")?.running).toBe(999_999_999);
});
