/** UTF-8 in bodies that are decoded in chunks. What else is no UTF-8: render-request.property.test.ts. */
import { expect, it } from "vitest";
import { isUtf8 } from "../../../rules/json/utf8.ts";
import { problemOf } from "../../support/rules/bodies.ts";

const CHUNK_BYTES = 64 * 1024;

/** A text with these bytes from `at` on, and as many chunks around them as there are. */
function bodyWith(at: number, hex: string, length = 3 * CHUNK_BYTES): Uint8Array {
  const body = new Uint8Array(length).fill(0x61);
  body.set(Buffer.from(hex, "hex"), at);
  return body;
}

it.each([
  ["c3a9", true],
  ["e282ac", true],
  ["f09f9880", true],
  // Cut off, or with a byte too many.
  ["c3", false],
  ["e282", false],
  ["f09f98", false],
  ["c3a980", false],
  ["80", false],
  ["80808080", false],
  // Overlong, a surrogate, beyond Unicode.
  ["c080", false],
  ["eda080", false],
  ["f4908080", false],
])("bytes at the end of a chunk are UTF-8, or not: %s", (hex, isValid) => {
  for (const end of [CHUNK_BYTES, 2 * CHUNK_BYTES]) {
    for (let at = end - 5; at <= end; at++) expect([at, isUtf8(bodyWith(at, hex))]).toEqual([at, isValid]);
  }
});

it("a body that ends in the middle of a character is not UTF-8, and an empty one is", () => {
  const ends = [1, 2, 3, 4].map((bytes) =>
    isUtf8(bodyWith(CHUNK_BYTES - 2, "f09f9880", CHUNK_BYTES + 2).subarray(0, CHUNK_BYTES - 2 + bytes)),
  );
  expect([...ends, isUtf8(new Uint8Array())]).toEqual([false, false, false, true, true]);
  expect(isUtf8(bodyWith(CHUNK_BYTES, "ff", CHUNK_BYTES + 1))).toBe(false);
});

it("a byte order mark is a character like any other inside a string", () => {
  expect(problemOf('{"source":"\ufeffa"}')).toBeNull();
});
