/** The request parser against the slow validator: the same verdict on generated, mutated, cut and random bodies. */
import fc, { type Arbitrary } from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, type Limits } from "../../rules/limits.ts";
import { ERROR_TYPES } from "../../rules/validation-errors.ts";
import { bodyOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { lowLimits, mutatedBody, randomBody, requestBody } from "../support/rules/request-arbitraries.ts";
import { RICH_BODIES } from "../support/rules/rich-bodies.ts";
import { runs } from "../support/rules/runs.ts";
import { validateSlowly } from "../support/rules/slow-validator.ts";
import { disagreement } from "../support/rules/verdicts.ts";

const TIGHT_LIMITS = limitsWith({
  max_inline_files: 3,
  max_inline_file_bytes: 16,
  max_template_source_bytes: 16,
  max_string_bytes: 16,
  max_output_files: 4,
});

/** The step through the bytes of a body: every one, unless the tests are run for each of many mutants. */
const EVERY_BYTE = Math.ceil(10 / runs(10));

function expectAgreement(body: Arbitrary<Uint8Array>, limits: Arbitrary<Limits>, numRuns: number): void {
  fc.assert(
    fc.property(body, limits, (bytes, chosen) => {
      const difference = disagreement(bytes, chosen);
      if (difference !== null) throw new Error(difference);
    }),
    { numRuns: runs(numRuns) },
  );
}

describe("the request parser gives the verdict of its slow formulation", () => {
  it("on generated requests", () => {
    expectAgreement(requestBody, lowLimits, 2000);
  });

  it("on requests with bytes changed, added or taken out", () => {
    expectAgreement(mutatedBody, lowLimits, 2000);
  });

  it("on random bytes", () => {
    expectAgreement(randomBody, fc.constant(DEFAULT_LIMITS), 6000);
  });

  it.each(RICH_BODIES)("on %s, cut at every byte", (_name, text) => {
    const whole = bodyOf(text);
    for (const limits of [DEFAULT_LIMITS, TIGHT_LIMITS]) {
      for (let length = 0; length <= whole.length; length += EVERY_BYTE) {
        const difference = disagreement(whole.subarray(0, length), limits);
        expect(difference).toBeNull();
      }
    }
  });

  it.each(RICH_BODIES)("on %s, with each byte set to one that matters", (_name, text) => {
    const whole = bodyOf(text);
    for (let at = 0; at < whole.length; at += EVERY_BYTE) {
      for (const byte of [0x22, 0x5c, 0x2c, 0x7d, 0x00, 0x80, 0xf7]) {
        const difference = disagreement(whole.with(at, byte), TIGHT_LIMITS);
        expect(difference).toBeNull();
      }
    }
  });
});

const CODES = [
  "invalid_request",
  "unsupported_format",
  "invalid_template_path",
  "invalid_file_data",
  "template_source_too_large",
  "template_file_too_large",
  "string_too_large",
  "page_selection_too_large",
];

it("the generators of requests reach acceptance, every code and every type of error", () => {
  const codes = new Map<string | null, number>();
  const types = new Set<string>();
  const samples = fc.sample(fc.tuple(requestBody, lowLimits), { numRuns: 1500, seed: 1 });
  for (const [body, limits] of samples) {
    const verdict = validateSlowly(body, limits);
    codes.set(verdict.code, (codes.get(verdict.code) ?? 0) + 1);
    const errors = verdict.code !== null && Array.isArray(verdict.context.errors) ? verdict.context.errors : [];
    for (const { type } of errors) types.add(type);
  }
  expect([...codes.keys()]).toEqual(expect.arrayContaining([null, ...CODES]));
  expect([...types]).toEqual(expect.arrayContaining(Object.keys(ERROR_TYPES)));
  expect(codes.get(null)).toBeGreaterThan(samples.length / 20);
});
