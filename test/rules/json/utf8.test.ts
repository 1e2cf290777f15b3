/** UTF-8: the validator against the platform's decoder, and invalid UTF-8 in every part of a request. */
import { describe, expect, it } from "vitest";
import { JsonCursor } from "../../../rules/json/cursor.ts";
import { bodyOf, placedAt, problemOf } from "../../support/rules/bodies.ts";

/** What the cursor says of a JSON string of these bytes, those written as escapes that must be. */
function isUtf8(bytes: Uint8Array, offset = 0): boolean {
  const written = [0x22];
  for (const byte of bytes) {
    const mustBeEscaped = byte < 0x20 || byte === 0x22 || byte === 0x5c;
    if (mustBeEscaped) written.push(...bodyOf(`\\u${byte.toString(16).padStart(4, "0")}`));
    else written.push(byte);
  }
  written.push(0x22);
  const cursor = new JsonCursor(placedAt(offset, Uint8Array.from(written)));
  if (!cursor.readString()) throw new Error("the string is not JSON");
  return cursor.isUtf8;
}

function isDecodable(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** The bytes at and next to every bound in RFC 3629, section 4. */
const BOUNDS = [
  0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
  0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xff,
];

/** Validates bytes at the beginning, in the middle and at the end of a text, at every alignment. */
function expectAsDecoded(bytes: readonly number[]): void {
  const expected = isDecodable(Uint8Array.from(bytes));
  const wrong = [[], [0x61, 0x61, 0x61, 0x61, 0x61]].flatMap((before) =>
    [[], [0x61, 0x61, 0x61, 0x61]].flatMap((after) =>
      [0, 1, 2, 3].filter((offset) => isUtf8(Uint8Array.from([...before, ...bytes, ...after]), offset) !== expected),
    ),
  );
  if (wrong.length > 0) throw new Error(`${bytes.map((byte) => byte.toString(16)).join(" ")} should be ${expected}`);
}

describe("the UTF-8 validator agrees with the platform's decoder", () => {
  it("on every sequence of one and two bytes", () => {
    for (let first = 0; first < 256; first++) {
      expectAsDecoded([first]);
      for (let second = 0; second < 256; second++) {
        const bytes = Uint8Array.from([first, second]);
        if (isUtf8(bytes) !== isDecodable(bytes)) throw new Error(`${first} ${second}`);
      }
    }
  });

  it("on every sequence of three bytes at the bounds", () => {
    for (const first of BOUNDS) {
      for (const second of BOUNDS) for (const third of BOUNDS) expectAsDecoded([first, second, third]);
    }
  });

  it("on every sequence of four bytes at the bounds", () => {
    for (const first of BOUNDS.filter((byte) => byte >= 0xc0)) {
      for (const second of BOUNDS) {
        for (const third of [0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xe0]) {
          for (const fourth of [0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xf0]) {
            const bytes = Uint8Array.from([first, second, third, fourth]);
            if (isUtf8(bytes) !== isDecodable(bytes)) throw new Error(bytes.toHex());
          }
        }
      }
    }
  });
});

it("a byte order mark is a character like any other inside a string", () => {
  expect(problemOf('{"source":"\ufeffa"}')).toBeNull();
});
