/**
 * Generators of request bodies: with errors anywhere or none, mutated ones, and the limits to validate them by. They make
 * JSON text, not values, because the parser must handle every spelling of a value.
 */
import fc, { type Arbitrary } from "fast-check";
import { LIMIT_SETTINGS, type Limits, publishedLimits } from "../../../rules/limits.ts";
import { bodyOf } from "./bodies.ts";
import { OUTPUT_RULES } from "./published-rules-client.ts";

type Text = Arbitrary<string>;

/** One of several arbitraries, chosen by weight. */
function weighted<T>(...choices: readonly (readonly [weight: number, arbitrary: Arbitrary<T>])[]): Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** What is valid, and now and then something else. */
function usually(valid: Text, ...others: readonly Text[]): Text {
  return weighted([24, valid], [1, fc.oneof(...others)]);
}

const oneOf = fc.constantFrom<string[]>;
const integer = (min: number, max: number) => fc.integer({ min, max });
const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: oneOf(..."0123456789"), minLength, maxLength });

const lowLimit = weighted([1, integer(1, 12)], [2, fc.constantFrom(24, 1024)]);

/** Limits that are low enough for small requests to reach. That on the whole body is enforced before the parser. */
export const lowLimits: Arbitrary<Limits> = fc
  .record({
    ...Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, lowLimit])),
    max_inline_files: weighted([1, fc.nat(4)], [3, fc.constantFrom(5, 64, 1024, 5000)]),
    max_request_body_bytes: fc.constant(20_971_520),
    max_output_files: weighted([1, integer(1, 8)], [1, fc.constant(64)]),
  })
  .map(publishedLimits);

// Text and how it is written

const AWKWARD_UNITS = [
  ...'aZ09 /\\"{}[],:=+-_.…é€\b\f\n\r\t',
  ..."\u0000\u001f\u007f\u0080\u07ff\u0800\u2028\ufeff\uffff\u{10000}\u{1f600}\u{10ffff}",
];

/** Text of awkward characters, all of them Unicode. */
const encodableText = fc.string({ unit: oneOf(...AWKWARD_UNITS), maxLength: 24 });
/** The same, with some lone surrogates. */
const brokenText = fc.string({
  unit: oneOf(...AWKWARD_UNITS, "\ud800", "\udbff", "\udc00", "\udfff"),
  maxLength: 12,
});
/** Text around the length at which a segment of a path is shortened. */
const longText = fc.string({ unit: oneOf("a", "é", "\u{1f600}"), minLength: 76, maxLength: 84 });

/** A string as JSON text, its characters in these ways in turn: as they are (0, 1), or escaped. */
function written(text: string, ways: readonly number[]): string {
  const characters = Array.from(text, (character, index) => {
    const way = ways[index % ways.length] ?? 0;
    if (way === 1 && character === "/") return "\\/";
    if (way <= 1) return JSON.stringify(character).slice(1, -1);
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at).toString(16));
    return units.map((hex) => `\\u${(way === 2 ? hex : hex.toUpperCase()).padStart(4, "0")}`).join("");
  });
  return `"${characters.join("")}"`;
}

const ways = weighted<number[]>([4, fc.constant([0])], [3, fc.array(fc.nat(3), { minLength: 1, maxLength: 5 })]);
const whitespace = weighted([8, fc.constant("")], [1, oneOf(" ", "\n", "\t", "\r\n", "  \n\t")]);

/** JSON text of a string of the given texts. */
function stringOf(text: Text): Text {
  return fc.tuple(text, ways).map(([value, chosen]) => written(value, chosen));
}

type Member = readonly [key: string, value: string];
const field = (key: string, value: Text): Arbitrary<Member> => value.map((text) => [key, text]);

function objectOf(members: Arbitrary<readonly Member[]>): Text {
  return fc.tuple(members, ways, whitespace, whitespace).map(([list, chosen, before, after]) => {
    const texts = list.map(([key, value]) => `${before}${written(key, chosen)}${after}:${before}${value}${after}`);
    return `{${texts.join(",")}${before}}`;
  });
}

/** An object of these members, without those that are null, in any order, and rarely with another one. */
function objectInAnyOrder(members: readonly Arbitrary<Member | null>[], other: Arbitrary<Member>): Text {
  const rare = weighted<Member | null>([24, fc.constant(null)], [1, other]);
  const given = fc.tuple(...members, rare).map((list) => list.filter((member) => member !== null));
  return objectOf(given.chain((list) => fc.shuffledSubarray(list, { minLength: list.length })));
}

function arrayOf(items: Arbitrary<readonly string[]>): Text {
  return fc.tuple(items, whitespace).map(([list, space]) => `[${space}${list.join(`${space},${space}`)}${space}]`);
}

const quoted = (...texts: readonly string[]) => oneOf(...texts).map((text) => JSON.stringify(text));
const orNull = (text: Text) => weighted([3, text], [1, fc.constant("null")]);

// Numbers

/** 2^1024 - 2^970, the least integer that rounds to infinity. */
const LEAST_INFINITE = 2n ** 1024n - 2n ** 970n;

/** The number of 309 digits at the start of `text`, with its point elsewhere and an exponent that compensates. */
function shiftedPoint(text: string, places: number): string {
  const more = places - text.length;
  if (more >= 0) return `0.${"0".repeat(more)}${text}e${more + 309}`;
  return `${text.slice(0, -more)}${places > 0 ? `.${text.slice(-more)}` : ""}e${309 + more}`;
}

const shiftedText = fc
  .tuple(fc.bigInt({ min: LEAST_INFINITE - 3n, max: LEAST_INFINITE + 3n }), fc.nat(330), digits(0, 4))
  .map(([start, places, tail]) => shiftedPoint(`${start}${tail}`, places));
const longIntegerText = fc
  .tuple(oneOf("", "-"), digits(305, 312), oneOf("", ".0", ".999", "e0", "e-3", "e+2"))
  .map(([sign, text, rest]) => `${sign}${text.replace(/^0+(?=.)/, "")}${rest}`);
const fractionText = fc
  .tuple(fc.nat(320), digits(1, 8), integer(-30, 640))
  .map(([zeros, text, exponent]) => `0.${"0".repeat(zeros)}${text}e${exponent}`);

/** The text of numbers, but for those next to the largest double. */
export const numberText: Text = weighted(
  [4, fc.integer().map(String)],
  [2, fc.double({ min: -1e300, max: 1e300, noNaN: true }).map((value) => JSON.stringify(value))],
  [1, oneOf("0", "-0", "-0.0", "0e0", "1E+2", "1e-2", "1.0", "1.50", "144", "300", "301")],
  [1, oneOf("1e308", "1e309", "-1e309", "1.8e308")],
  [1, oneOf("1e400", "1e-400", "0e999999", "1e99999999999", "-1e-99999999999", "0.1e310", "100e307")],
  [1, longIntegerText],
  [1, fractionText],
);

const firstDigitsText = fc
  .record({
    sign: oneOf("", "-"),
    next: oneOf("", "5", "6", "56", "57", "58", "569", "570", "571", "5707", "5708", "5709", "57081", "57082"),
    tail: digits(0, 6),
    zeros: fc.nat(5),
    places: fc.nat(25),
    letter: oneOf("e", "E", "e+"),
  })
  .map(({ sign, next, tail, zeros, places, letter }) => {
    const shifted = shiftedPoint(`179769313486231${next}${tail}${"0".repeat(zeros)}`, places);
    return sign + shifted.replace(/e(?!-)/, letter);
  });

/**
 * Spellings next to the largest double: more or fewer of its first digits, and zeros that do not change the value but
 * the way in which Typst rounds it.
 */
export const borderNumberText: Text = weighted([3, firstDigitsText], [1, shiftedText]);

// JSON values

const DATE_KEY = "$__toml_private_datetime";

const memberName = weighted(
  [4, oneOf("a", "b", "", "__proto__", "content", "é", "toString")],
  [1, oneOf(DATE_KEY, "$__toml_private_datetimf")],
  [2, encodableText],
  [1, longText],
);

const plainScalar = oneOf("null", "true", "false", "[]", "{}", "[ ]", "{\n}");
/** Values, including some that Typst cannot read. */
const wildScalar = weighted([3, stringOf(encodableText)], [1, plainScalar], [1, stringOf(brokenText)], [2, numberText]);

function valueText(scalar: Text, key: Text): Text {
  return fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 4, arbitrary: scalar },
      { weight: 2, arbitrary: arrayOf(fc.array(tie("value"), { maxLength: 4 })) },
      { weight: 2, arbitrary: objectOf(fc.array(fc.tuple(key, tie("value")), { maxLength: 4 })) },
    ),
  })).value;
}

const twoDigits = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, "0"));
const timeText = fc.tuple(twoDigits(25), twoDigits(61), twoDigits(61)).map((parts) => parts.join(":"));
const year = fc.oneof(integer(1895, 2005), fc.nat(10_100));
const day = weighted([2, twoDigits(32)], [3, oneOf("28", "29", "30", "31")]);
const dayText = fc
  .tuple(oneOf("", "", "", "+", "-", " "), year, twoDigits(13), day)
  .map(([sign, year, month, day]) => `${sign}${String(year).padStart(4, "0")}-${month}-${day}`);
const momentText = fc
  .tuple(dayText, oneOf("T", "T", "t", " "), timeText, oneOf("", "Z", "z", "+00:00", ".5"))
  .map((parts) => parts.join(""));

/** Text that is a date or a time for Typst, or nearly so. */
export const dateText: Text = weighted(
  [4, dayText],
  [2, timeText],
  [3, momentText],
  [1, oneOf("", "2020-1-1", "1-1-1", "2020-02-30T00:00:00", "24:00:00", "00:00", "2020-01-01Z", "00:00:00Z")],
);

const dateValue = weighted([6, stringOf(dateText)], [1, oneOf("1", "[]", '["2020-01-01"]')]);
/** JSON text of objects that Typst reads as dates, or nearly so. */
const dateObjectText = valueText(dateValue, weighted([8, fc.constant(DATE_KEY)], [1, oneOf("a")]));

const wildValueText = valueText(wildScalar, weighted([3, memberName], [1, brokenText]));

/** Values nested about as deep as Typst reads, with errors below, beside and after the deepest container. */
const deepValueText = fc
  .record({
    depth: integer(123, 131),
    areObjects: fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
    leaf: wildValueText,
    sibling: wildScalar,
    count: fc.nat(2),
  })
  .map(({ depth, areObjects, leaf, sibling, count }) => {
    let deep = `[${leaf}]`;
    for (let level = 0; level < depth; level++) {
      deep = areObjects[level % areObjects.length] === true ? `{"k":${deep}}` : `[${deep}]`;
    }
    return `[${[sibling, ...Array<string>(count).fill(deep), sibling].join(",")}]`;
  });

const manyErrors = arrayOf(fc.array(stringOf(brokenText), { minLength: 30, maxLength: 60 }));
const datesText = arrayOf(fc.array(fc.oneof(dateObjectText, wildScalar), { maxLength: 4 }));
const dataText = weighted(
  [10, valueText(stringOf(encodableText), memberName)],
  [3, wildValueText],
  [2, deepValueText],
  [2, datesText],
  [1, manyErrors],
);

// The fields of a request

const GOOD_KEYS = ["main.typ", "a", "A", "b", "lib", "lib/x.typ", "LIB/x.typ", "a/b", "A/b/c", "a/b/c/d", "a.b", "..a"];
const BAD_KEYS = [
  ...["", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/..."],
  ...["a\n", "é", "a b", "a\\b", "\u0000", "\ud800"],
];
const LONG_KEYS = [
  ...["s".repeat(255), "s".repeat(256), `${"s".repeat(255)}/${"s".repeat(255)}`],
  ...[`${"k/".repeat(255)}k`, `${"k/".repeat(255)}kk`, `${"k/".repeat(256)}k`],
];

/** Keys of about the maximum length: segments of one length, and an end that may be invalid. */
export const longKeyText: Text = fc
  .tuple(integer(508, 516), integer(1, 257), oneOf("k", "k", ".", "/", "é"))
  .map(
    ([length, segmentLength, last]) => `${`${"k".repeat(segmentLength)}/`.repeat(length).slice(0, length - 2)}k${last}`,
  );

/** Keys that test the key rules: valid ones that collide, invalid ones, and random combinations of segments. */
export const keyText: Text = weighted(
  [12, oneOf(...GOOD_KEYS)],
  [1, oneOf(...BAD_KEYS)],
  [1, oneOf(...LONG_KEYS)],
  [1, longKeyText],
  [1, fc.array(fc.string({ unit: oneOf(..."ab.-_0"), maxLength: 4 }), { maxLength: 5 }).map((s) => s.join("/"))],
);

const goodBase64Text = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64"));
/** Base64 and text that is nearly Base64. */
export const base64Text: Text = weighted(
  [6, goodBase64Text],
  [2, fc.string({ unit: oneOf(..."AQgwZ/+9="), maxLength: 12 })],
  [1, fc.string({ unit: oneOf(..."AQ==/-_ \n", "é", "\ud800", "\u0141"), maxLength: 8 })],
);

const validKey = oneOf("main.typ", "b", "lib/x.typ", "a/b", "assets/logo.png");
const otherFileField = fc.tuple(oneOf("encoding", "content", "name", "\ud800"), wildScalar);
const fileWith = (encoding: string, content: Text, ...others: readonly Text[]) =>
  objectInAnyOrder(
    [
      fc.option(
        field("encoding", usually(quoted(encoding), stringOf(oneOf("text", "base64", "TEXT", "")), wildScalar)),
        {
          freq: 20,
        },
      ),
      fc.option(field("content", usually(stringOf(content), ...others.map(stringOf), wildScalar)), { freq: 20 }),
    ],
    otherFileField,
  );
const fileText = fc.oneof(fileWith("text", encodableText, brokenText), fileWith("base64", goodBase64Text, base64Text));
const filesText = objectOf(
  fc.array(fc.tuple(weighted([4, validKey], [1, keyText]), usually(fileText, wildScalar)), { maxLength: 5 }),
);

const selectionText = weighted(
  [4, integer(1, 12).map(String)],
  [4, fc.tuple(integer(1, 9), fc.nat(6)).map(([first, more]) => `${first}-${first + more}`)],
  [2, integer(1, 12).map((first) => `${first}-`)],
);
const pagesText = fc.array(selectionText, { minLength: 1, maxLength: 5 }).map((list) => list.join(","));
const wildPages = fc.oneof(
  oneOf("", "0", "01", "1,", "-1", "5-2", "1-999999999", "1000000000", "1\n", "\ud800", "1,2-1,x"),
  integer(62, 66).map((count) => Array.from({ length: count }, () => "1").join(",")),
  fc.oneof(integer(254, 258), integer(4094, 4098)).map((length) => "\u{1f4c4}".repeat(length)),
  integer(254, 258).map((length) => `${"1234,".repeat(50)}${"9".repeat(length - 250)}`),
);

const STANDARD_NAMES = ["ua-1", "ua-1", "a-1b", "a-1a", "a-2b", "a-2a", "a-3b", "a-3a", "a-4", "a-4f", "a-4e"];
const integerText = weighted([3, integer(1, 300).map(String)], [1, oneOf("1.0", "1e2", "300")]);
const wildNumber = weighted(
  [2, oneOf("0", "301", "-1", "0.5", "300.5", "-0", "1e400", "-1e400", "1e300", "9007199254740993", '"144"')],
  [1, numberText],
  [1, integer(1020, 1028).map((length) => `1.${"0".repeat(length - 2)}`)],
);
const filenameText = stringOf(
  weighted([4, encodableText], [1, brokenText], [1, integer(4090, 4100).map((n) => `${"n".repeat(n - 1)}\u{1f600}`)]),
);

const wildStandards = fc.oneof(quoted(...STANDARD_NAMES, "a-5", "UA-1"), wildScalar);
const OUTPUT_FIELDS: Readonly<Record<string, Text>> = {
  filename: usually(orNull(filenameText), wildScalar),
  version: usually(orNull(quoted("1.4", "1.7", "2.0")), quoted("1.3"), wildScalar),
  standards: usually(
    arrayOf(fc.array(quoted(...STANDARD_NAMES), { maxLength: 2 })),
    arrayOf(fc.array(wildStandards, { maxLength: 4 })),
    wildScalar,
  ),
  pages: weighted([4, orNull(stringOf(pagesText))], [2, stringOf(wildPages)], [1, wildScalar]),
  page: usually(orNull(integerText), wildNumber, wildScalar),
  archive: usually(orNull(quoted("zip")), quoted("tar"), wildScalar),
  ppi: weighted([3, integerText], [1, wildNumber]),
};
const otherOutputField = fc.oneof(
  ...Object.entries(OUTPUT_FIELDS).map(([name, value]) => field(name, value)),
  field("format", quoted("pdf", "png", "svg", "PDF", "html")),
  fc.tuple(oneOf("colour", "", "Format", "\udfff"), wildScalar),
);
const outputText = oneOf(...OUTPUT_RULES.formats).chain((format) => {
  const own = OUTPUT_RULES.fields[format]?.filter((name) => name !== "format") ?? [];
  const members = own.map((name) => fc.option(field(name, OUTPUT_FIELDS[name] ?? wildScalar), { freq: 3 }));
  const named = field("format", usually(quoted(format), quoted("PDF", "html"), wildScalar));
  return objectInAnyOrder([format === "pdf" ? fc.option(named) : named, ...members], otherOutputField);
});

// Requests

const sourceText = stringOf(fc.string({ unit: oneOf(...AWKWARD_UNITS), minLength: 1, maxLength: 14 }));
const optional = [
  field("files", usually(filesText, wildScalar)),
  field("data", dataText),
  field("output", usually(outputText, wildScalar)),
].map((member) => fc.option(member, { freq: 2 }));
const source = fc.option(field("source", usually(sourceText, stringOf(brokenText), wildScalar)), { freq: 40 });
const otherField = fc.tuple(oneOf("source", "files", "data", "output", "Source", "\ud83d"), wildScalar);

/** The JSON text of a request, or rarely of another value. */
export const requestText: Text = fc
  .tuple(whitespace, usually(objectInAnyOrder([source, ...optional], otherField), wildValueText), whitespace)
  .map((parts) => parts.join(""));

export const requestBody: Arbitrary<Uint8Array> = requestText.map(bodyOf);

/** Bytes that matter to a JSON or UTF-8 parser: those of the grammar, and the beginnings of invalid sequences. */
const INTERESTING_BYTES: readonly Uint8Array[] = [
  ...Array.from('"\\{}[]:,0123456789+-.eEtfnu/ \n\t\r', (character) => bodyOf(character)),
  ..."00 1f 7f 80 bf c080 c3 c3a9 e08080 e282 eda080 efbbbf f09f9880 f4908080 f7bfbfbf ff"
    .split(" ")
    .map((hex) => Uint8Array.from(Buffer.from(hex, "hex"))),
  ...['\\"', "\\u", "\\ud800", "\\udc00", "\\u0000", "null", "1e999", '""', "[]", "{}", '"a":1,', ",,"].map(bodyOf),
];

type Mutation = (bytes: Uint8Array) => Uint8Array;

const mutation: Arbitrary<Mutation> = fc
  .tuple(fc.nat(), fc.constantFrom(...INTERESTING_BYTES), fc.nat(255), fc.nat(12), fc.nat(6))
  .map(([place, piece, byte, length, kind]) => (bytes) => {
    const at = place % (bytes.length + 1);
    const changes: (readonly [removed: number, added: Uint8Array])[] = [
      [1, Uint8Array.of(byte)],
      [1, Uint8Array.of((bytes[at] ?? 0) ^ (1 << (length & 7)))],
      [1 + length, new Uint8Array()],
      [0, bytes.subarray(at, at + length)],
      [piece.length, piece],
    ];
    const [removed, added] = changes[kind] ?? [0, piece];
    return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)]);
  });

/** The bytes of a request with a few bytes changed, added or removed. */
export const mutatedBody: Arbitrary<Uint8Array> = fc
  .tuple(requestBody, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([body, mutations]) => mutations.reduce((bytes, mutate) => mutate(bytes), body));

/** Bytes that are rarely JSON: random ones, and tokens of the grammar in random order. */
export const randomBody: Arbitrary<Uint8Array> = weighted<Uint8Array>(
  [1, fc.uint8Array({ maxLength: 64 })],
  [3, fc.array(fc.constantFrom(...INTERESTING_BYTES), { maxLength: 24 }).map((pieces) => Buffer.concat(pieces))],
);
