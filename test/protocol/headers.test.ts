/** The header fields in which a backend says how busy it is and how long it took, and those of entity tags: written, read and passed on. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BackendLoad,
  formatBackendLoad,
  formatServerTiming,
  joinServerTimings,
  namesEntityTag,
  parseBackendLoad,
  parseServerTiming,
} from "../../protocol/headers.ts";
import { runs } from "../support/rules/runs.ts";

const LOAD: BackendLoad = { running: 1, waiting: 0, slots: 2, isDraining: false };

it.each([
  ["running=1,waiting=0,slots=2", LOAD],
  ["running=1,waiting=0,slots=2,draining", { ...LOAD, isDraining: true }],
])("%s is written and read", (text, load) => {
  expect(formatBackendLoad(load)).toBe(text);
  expect(parseBackendLoad(text)).toEqual(load);
});

it("a backend without slots is read as one with a slot, because the edge divides by them", () => {
  expect(parseBackendLoad("running=0,waiting=0,slots=0")?.slots).toBe(1);
});

it.each([
  ...[null, "", "running=1", "running=1,waiting=0", "waiting=0,running=1,slots=2", "running=1, waiting=0, slots=2"],
  ...["-1", "1.5", "1e3", "1234567890"].map((running) => `running=${running},waiting=0,slots=2`),
  ...["running=1,waiting=0,slots=2,leaving", "running=1,waiting=0,slots=2,draining,", "Running=1,waiting=0,slots=2"],
  ...["running=0,waiting=0,slots=257", "running=0,waiting=0,slots=999999999"],
])("%j tells nothing", (value) => {
  expect(parseBackendLoad(value)).toBeNull();
});

describe("Server-Timing", () => {
  it("has the milliseconds of each phase that was reached, with one decimal at most", () => {
    expect(formatServerTiming({ queue: 0, start: 1.04, files: undefined, compile: 1234.56, archive: null })).toBe(
      "queue;dur=0, start;dur=1, compile;dur=1234.6",
    );
    expect(formatServerTiming({})).toBe("");
  });

  it("has no negative durations: a clock may be set back", () => {
    expect(formatServerTiming({ receive: -3 })).toBe("receive;dur=0");
  });

  it("of a backend is passed on as this service writes it", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,10}$/), fc.double({ min: 0, max: 1e9, noNaN: true }), {
          minKeys: 1,
          maxKeys: 8,
        }),
        (phases) => {
          const timing = formatServerTiming(phases);
          expect(parseServerTiming(timing)).toBe(timing);
        },
      ),
      { numRuns: runs(1000) },
    );
  });

  it.each([
    null,
    "",
    "queue",
    "queue;dur=-1",
    "queue;dur=1.23",
    'queue;desc="x"',
    "queue;dur=1,start;dur=1",
    `${"a;dur=1, ".repeat(80)}a;dur=1`,
  ])("of a backend is not passed on when it is %j", (text) => {
    expect(parseServerTiming(text)).toBeNull();
  });

  it("joins the fields that are present", () => {
    expect(joinServerTimings("receive;dur=1", null, "", "queue;dur=2")).toBe("receive;dur=1, queue;dur=2");
  });
});

it.each([
  ['"a"', true],
  ['"b"', true],
  ['W/"a"', true],
  ['"x", W/"b"', true],
  [" * ", true],
  [null, false],
  ["", false],
  ['"A"', false],
  ["a", false],
  ['"x", "y"', false],
])("If-None-Match: %j names one of two entity tags: %s", (field, isNamed) => {
  expect(namesEntityTag(field, '"a"', '"b"')).toBe(isNamed);
});
