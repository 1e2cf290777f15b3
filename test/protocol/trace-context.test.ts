/** W3C Trace Context: what of `traceparent` and `tracestate` is accepted, and what is passed on. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_TRACESTATE_LENGTH, parseTraceparent, shortenTracestate, traceIdOf } from "../../protocol/trace-context.ts";
import { runs } from "../support/rules/runs.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";
const VALID = `00-${TRACE_ID}-${PARENT_ID}-01`;

describe("a traceparent", () => {
  it("names a trace, a parent and whether it is sampled", () => {
    expect(parseTraceparent(VALID)).toEqual({ traceId: TRACE_ID, parentId: PARENT_ID, isSampled: true });
    expect(parseTraceparent(`00-${TRACE_ID}-${PARENT_ID}-00`)?.isSampled).toBe(false);
  });

  it("is sampled if its lowest bit is set, whatever the others are", () => {
    const flags = ["02", "03", "fe", "ff"];
    const sampled = flags.map((each) => parseTraceparent(`00-${TRACE_ID}-${PARENT_ID}-${each}`)?.isSampled);
    expect(sampled).toEqual([false, true, false, true]);
  });

  it("of a later version may have more fields, after a hyphen", () => {
    expect(parseTraceparent(`cc-${TRACE_ID}-${PARENT_ID}-01`)).not.toBeNull();
    expect(parseTraceparent(`cc-${TRACE_ID}-${PARENT_ID}-01-what-comes-then`)).not.toBeNull();
    expect(parseTraceparent(`cc-${TRACE_ID}-${PARENT_ID}-01.what-comes-then`)).toBeNull();
  });

  it("may have 128 characters and no more", () => {
    const longest = `cc-${TRACE_ID}-${PARENT_ID}-01-`.padEnd(128, "x");
    expect(parseTraceparent(longest)).not.toBeNull();
    expect(parseTraceparent(`${longest}x`)).toBeNull();
  });

  it.each([
    null,
    undefined,
    "",
    `${VALID}-00`,
    `${VALID}-`,
    `${VALID} `,
    ` ${VALID}`,
    `${VALID}\n`,
    VALID.toUpperCase(),
    VALID.slice(0, -1),
    VALID.replaceAll("-", ""),
    `ff-${TRACE_ID}-${PARENT_ID}-01`,
    `00-${"0".repeat(32)}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `00-${TRACE_ID.slice(1)}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${PARENT_ID}-0g`,
    `${VALID}, ${VALID}`,
  ])("counts as absent when it is %j", (text) => {
    expect(parseTraceparent(text)).toBeNull();
  });
});

describe("a tracestate", () => {
  it("is passed on without the spaces around its members and without empty members", () => {
    expect(shortenTracestate("congo=t61rcWkgMzE")).toBe("congo=t61rcWkgMzE");
    expect(shortenTracestate(" rojo=00f067aa0ba902b7 ,\t, tenant@system=a b ")).toBe(
      "rojo=00f067aa0ba902b7,tenant@system=a b",
    );
  });

  const REFUSED = ["", " , ", "congo", "Congo=1", "congo=", "congo=a=b", "a@=1", "congo=\u00e9", "=1", "a=1\n"];
  it.each([null, undefined, ...REFUSED])("is not passed on when it is %j", (text) => {
    expect(shortenTracestate(text)).toBeNull();
  });

  it("may have 32 members and no more", () => {
    const members = (count: number) => Array.from({ length: count }, (_, index) => `k${index}=v`).join(",");
    expect(shortenTracestate(members(32))).toBe(members(32));
    expect(shortenTracestate(members(33))).toBeNull();
  });

  it("may be 16 times as long as what is passed on, and no longer", () => {
    const long = `a=1,${" ".repeat(15 * MAX_TRACESTATE_LENGTH + 508)}`;
    expect(shortenTracestate(long)).toBe("a=1");
    expect(shortenTracestate(`${long} `)).toBeNull();
  });

  it("is passed on up to 512 characters, in whole members", () => {
    const member = (key: string, length: number) => `${key}=`.padEnd(length, "v");
    const fits = `${member("a", 256)},${member("b", 255)}`;
    expect(fits).toHaveLength(MAX_TRACESTATE_LENGTH);
    expect(shortenTracestate(fits)).toBe(fits);
    expect(shortenTracestate(`${member("a", 256)},${member("b", 256)}`)).toBe(member("a", 256));
    expect(shortenTracestate(`${fits},c=1`)).toBe(fits);
  });

  it("is never longer than 512 characters, and what is passed on is passed on again", () => {
    const member = fc
      .tuple(fc.stringMatching(/^[a-z][a-z0-9]{0,40}$/), fc.stringMatching(/^[!-+]{1,250}$/))
      .map(([key, value]) => `${key}=${value}`);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(member, { maxLength: 40 }).map((members) => members.join(", ")),
          fc.string(),
        ),
        (text) => {
          const passed = shortenTracestate(text);
          if (passed === null) return;
          expect(passed.length).toBeLessThanOrEqual(MAX_TRACESTATE_LENGTH);
          expect(shortenTracestate(passed)).toBe(passed);
        },
      ),
      { numRuns: runs(1000) },
    );
  });
});

it("the trace of a request is the caller's, or has the digits of the request id", () => {
  const requestId = "0195f3a2-7c41-4d9e-8b1a-5f0c2d3e4a6b";
  expect(traceIdOf(parseTraceparent(VALID), requestId)).toBe(TRACE_ID);
  expect(traceIdOf(null, requestId)).toBe("0195f3a27c414d9e8b1a5f0c2d3e4a6b");
});
