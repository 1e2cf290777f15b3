/** Integer settings, and the limits that are read as such. */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, LIMIT_SETTINGS, limitsFingerprint, limitsFrom } from "../../rules/limits.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import { readIntegerSettings, SettingError } from "../../rules/settings.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

const TABLE = { count: { setting: "SERVICE_COUNT", default: 7, min: 1, max: 1000 } };
const read = (text: string | undefined) =>
  readIntegerSettings(TABLE, { SERVICE_COUNT: text, SERVICE_OTHER: "x" }).count;

describe("a whole-number setting", () => {
  it.each([
    [undefined, 7],
    ["", 7],
    ["  ", 7],
    ["1", 1],
    ["1000", 1000],
    ["007", 7],
    [" 12\n", 12],
  ])("of %j is %i", (text, value) => {
    expect(read(text)).toBe(value);
  });

  it.each([..."0 1001 -1 +1 1.0 1e2 0x10 1_000 1,000 ten NaN Infinity ٣".split(" "), "1 2", "9".repeat(16)])(
    "of %j is rejected with its name and range",
    (text) => {
      expect(() => read(text)).toThrow(SettingError);
      expect(() => read(text)).toThrow(/^SERVICE_COUNT .*1 to 1000/);
    },
  );
});

describe("the limits", () => {
  it.each(Object.entries(LIMIT_SETTINGS))(
    "take %s from its setting, within its range",
    (name, { setting, min, max, code }) => {
      for (const value of [min, max]) {
        expect(limitsFrom(readIntegerSettings(LIMIT_SETTINGS, { [setting]: String(value) }))).toMatchObject({
          [name]: value,
        });
      }
      for (const value of [min - 1, max + 1]) {
        expect(() => readIntegerSettings(LIMIT_SETTINGS, { [setting]: String(value) })).toThrow(setting);
      }
      expect(Object.keys(PROBLEMS)).toContain(code);
    },
  );

  it("have one fingerprint for equal limits in any order, and another for each that differs", () => {
    const reversed = Object.fromEntries(Object.entries(DEFAULT_LIMITS).toReversed());
    expect(limitsFingerprint({ ...reversed, ...DEFAULT_LIMITS })).toBe(limitsFingerprint(DEFAULT_LIMITS));
    const others = Object.keys(LIMIT_SETTINGS).map((name) => limitsFingerprint(limitsWith({ [name]: 1 })));
    expect(new Set([...others, limitsFingerprint(DEFAULT_LIMITS)]).size).toBe(others.length + 1);
  });
});
