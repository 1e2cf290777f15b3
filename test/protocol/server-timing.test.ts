/** `Server-Timing`: how phases are written, and which fields of a backend are passed on. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinServerTimings, parseServerTiming, serverTiming } from "../../protocol/server-timing.ts";
import { runs } from "../support/rules/runs.ts";

describe("Server-Timing", () => {
  it("has the milliseconds of each phase that was reached, with one decimal at most", () => {
    expect(serverTiming({ queue: 0, start: 1.04, files: undefined, compile: 1234.56, archive: null })).toBe(
      "queue;dur=0, start;dur=1, compile;dur=1234.6",
    );
    expect(serverTiming({})).toBe("");
  });

  it("has no negative durations: a clock may be set back", () => {
    expect(serverTiming({ receive: -3 })).toBe("receive;dur=0");
  });

  it("of a backend is passed on as this service writes it", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,10}$/), fc.double({ min: 0, max: 1e9, noNaN: true }), {
          minKeys: 1,
          maxKeys: 8,
        }),
        (phases) => {
          const timing = serverTiming(phases);
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
    "a;dur=1, ".repeat(80),
  ])("of a backend is not passed on when it is %j", (text) => {
    expect(parseServerTiming(text)).toBeNull();
  });

  it("joins the fields that are present", () => {
    expect(joinServerTimings("receive;dur=1", null, "", "queue;dur=2")).toBe("receive;dur=1, queue;dur=2");
  });
});
