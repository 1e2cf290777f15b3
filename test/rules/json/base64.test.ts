/** Base64: text is accepted if and only if decoding and encoding it returns the same text. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { base64DecodedSize } from "../../../rules/json/base64.ts";
import { JsonCursor } from "../../../rules/json/cursor.ts";
import { bodyOf } from "../../support/rules/bodies.ts";
import { base64Text } from "../../support/rules/request-arbitraries.ts";
import { runs } from "../../support/rules/runs.ts";

/** The decoded size of the JSON string that `written` is. */
function sizeOf(written: string): number | null {
  const cursor = new JsonCursor(bodyOf(written));
  if (!cursor.readString()) throw new Error(`no JSON string: ${written}`);
  return base64DecodedSize(cursor.body, cursor.stringSpan());
}

/** The same computed by Node: text that decodes and encodes to itself is canonical. */
function canonicalSize(text: string): number | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes.length : null;
}

const asEscapes = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`;

const nearlyBase64 = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."ABCDwxyz0189+/", "="), maxLength: 24 }),
  fc.string({ unit: fc.constantFrom(..."AQgw="), maxLength: 12 }),
  base64Text,
  fc
    .tuple(
      fc.uint8Array({ minLength: 1, maxLength: 3000 }),
      fc.nat(),
      fc.constantFrom(...'=-_ .\\"\b\f\n\r\t', ..."\u0000\u00c1\u0141\u4141\u{1f600}", "\ud800", "A"),
    )
    .map(([bytes, place, character]) => {
      const text = Buffer.from(bytes).toString("base64");
      const at = place % text.length;
      return text.slice(0, at) + character + text.slice(at + 1);
    }),
);

describe("Base64", () => {
  it("is accepted exactly where it is canonical, and measured once decoded, with escapes as well", () => {
    fc.assert(
      fc.property(nearlyBase64, (text) => {
        const expected = canonicalSize(text);
        expect(sizeOf(JSON.stringify(text))).toBe(expected);
        expect(sizeOf(JSON.stringify(text).replaceAll("/", "\\/"))).toBe(expected);
        if (text.length < 100) expect(sizeOf(asEscapes(text))).toBe(expected);
      }),
      { numRuns: runs(3000) },
    );
  });

  it("has the right verdict for every text of four characters of a small alphabet", () => {
    const letters = [..."AQgw/+9=", "-", " "];
    for (const a of letters) {
      for (const b of letters) {
        for (const c of letters) {
          for (const d of letters) {
            const text = a + b + c + d;
            if (sizeOf(`"${text}"`) !== canonicalSize(text)) throw new Error(text);
            if (sizeOf(asEscapes(text)) !== canonicalSize(text)) throw new Error(`escaped ${text}`);
          }
        }
      }
    }
  });
});
