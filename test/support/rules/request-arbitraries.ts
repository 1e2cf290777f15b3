/**
 * Generators of request bodies: nearly valid ones, broken ones, mutated ones, and the limits to validate them by. They
 * make JSON text, not values, because the parser must handle every spelling of a value.
 */
import fc, { type Arbitrary } from "fast-check";
import { LIMIT_SETTINGS, type Limits, publishedLimits } from "../../../rules/limits.ts";
import { bodyOf, placedAt } from "./bodies.ts";

/** One of several arbitraries, chosen by weight. */
function weighted<T>(...choices: readonly (readonly [weight: number, arbitrary: Arbitrary<T>])[]): Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const oneOf = fc.constantFrom<string[]>;
const digits = (minLength: number, maxLength: number) =>
  fc.string({ unit: oneOf(..."0123456789"), minLength, maxLength });

const lowLimit = weighted([1, fc.integer({ min: 1, max: 12 })], [2, fc.constantFrom(24, 1024)]);

/** Limits that are low enough for small requests to reach. That on the whole body is enforced before the parser. */
export const lowLimits: Arbitrary<Limits> = fc
  .record({
    ...Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, lowLimit])),
    max_inline_files: weighted([1, fc.nat(4)], [3, fc.constantFrom(5, 64, 1024, 5000)]),
    max_request_body_bytes: fc.constant(20_971_520),
    max_output_files: weighted([1, fc.integer({ min: 1, max: 8 })], [1, fc.constant(64)]),
  })
  .map(publishedLimits);

// Text and how it is written

const AWKWARD_UNITS = [
  ...'aZ09 /\\"{}[],:=+-_.…é€\b\f\n\r\t',
  ..."\u0000\u001f\u007f\u0080\u07ff\u0800\u2028\ufeff\uffff\u{10000}\u{1f600}\u{10ffff}",
];
const SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff"];

/** Text of awkward characters, all of them Unicode. */
const encodableText = fc.string({ unit: oneOf(...AWKWARD_UNITS), maxLength: 24 });
/** The same, with some lone surrogates. */
const brokenText = fc.string({ unit: oneOf(...AWKWARD_UNITS, ...SURROGATES), maxLength: 12 });
/** Text around the length at which a segment of a path is shortened. */
const longText = fc.string({ unit: oneOf("a", "é", "\u{1f600}"), minLength: 76, maxLength: 84 });

type Style = "raw" | "short" | "lower" | "upper";

/** A string as JSON text. The styles are used in turn, one per character. */
function written(text: string, styles: readonly Style[]): string {
  // Most texts that are written, among them the longest.
  if (styles.every((style) => style === "raw")) return JSON.stringify(text);
  let index = 0;
  let body = "";
  for (const character of text) body += writtenCharacter(character, styles[index++ % styles.length] ?? "raw");
  return `"${body}"`;
}

function writtenCharacter(character: string, style: Style): string {
  if (style === "short" && character === "/") return "\\/";
  if (style === "raw" || style === "short") return JSON.stringify(character).slice(1, -1);
  return Array.from({ length: character.length }, (_, index) => {
    const hex = character.charCodeAt(index).toString(16).padStart(4, "0");
    return `\\u${style === "upper" ? hex.toUpperCase() : hex}`;
  }).join("");
}

const styles: Arbitrary<readonly Style[]> = weighted(
  [4, fc.constant<readonly Style[]>(["raw"])],
  [3, fc.array(fc.constantFrom<Style[]>("raw", "raw", "short", "lower", "upper"), { minLength: 1, maxLength: 5 })],
);

/** JSON text of a string of the given texts. */
function stringOf(text: Arbitrary<string>): Arbitrary<string> {
  return fc.tuple(text, styles).map(([value, chosen]) => written(value, chosen));
}

const whitespace = weighted([8, fc.constant("")], [1, oneOf(" ", "\n", "\t", "\r\n", "  \n\t")]);

interface WrittenMember {
  readonly key: string;
  readonly value: string;
}

function objectOf(members: Arbitrary<readonly WrittenMember[]>): Arbitrary<string> {
  return fc.tuple(members, styles, whitespace, whitespace).map(([list, chosen, before, after]) => {
    const texts = list.map(({ key, value }) => `${before}${written(key, chosen)}${after}:${before}${value}${after}`);
    return `{${texts.join(",")}${before}}`;
  });
}

function arrayOf(items: Arbitrary<readonly string[]>): Arbitrary<string> {
  return fc.tuple(items, whitespace).map(([list, space]) => `[${space}${list.join(`${space},${space}`)}${space}]`);
}

// Numbers

/** 2^1024 - 2^970, the least integer that rounds to infinity, and its neighbours. */
const LEAST_INFINITE = 2n ** 1024n - 2n ** 970n;
const nearlyInfinite = fc.bigInt({ min: LEAST_INFINITE - 3n, max: LEAST_INFINITE + 3n }).map(String);

/** The number of 309 digits at the start of `text`, with its point elsewhere and an exponent that compensates. */
function shiftedPoint(text: string, places: number): string {
  const more = places - text.length;
  if (more >= 0) return `0.${"0".repeat(more)}${text}e${more + 309}`;
  return `${text.slice(0, -more)}${places > 0 ? `.${text.slice(-more)}` : ""}e${309 + more}`;
}

const shiftedText = fc
  .tuple(nearlyInfinite, fc.nat(330), digits(0, 4))
  .map(([start, places, tail]) => shiftedPoint(start + tail, places));
const longIntegerText = fc
  .tuple(oneOf("", "-"), digits(305, 312), oneOf("", ".0", ".999", "e0", "e-3", "e+2"))
  .map(([sign, text, rest]) => `${sign}${text.replace(/^0+(?=.)/, "")}${rest}`);
const fractionText = fc
  .tuple(fc.nat(320), digits(1, 8), fc.integer({ min: -30, max: 640 }))
  .map(([zeros, text, exponent]) => `0.${"0".repeat(zeros)}${text}e${exponent}`);

/** The text of numbers, including some around the largest double. */
export const numberText: Arbitrary<string> = weighted(
  [4, fc.integer().map(String)],
  [2, fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value))],
  [1, oneOf("0", "-0", "-0.0", "0e0", "1E+2", "1e-2", "1.0", "1.50", "144", "300", "301")],
  [1, oneOf("1e308", "1e309", "-1e309", "1.8e308", "1.7976931348623157e308", "1.7976931348623159e308")],
  [1, oneOf("1e400", "1e-400", "0e999999", "1e99999999999", "-1e-99999999999", "0.1e310", "100e307")],
  ...[nearlyInfinite, shiftedText, longIntegerText, fractionText].map((text) => [1, text] as const),
);

/**
 * Spellings close to the largest double: more or fewer of its first digits, and zeros that do not change the value but
 * the way in which Typst rounds it.
 */
export const borderNumberText: Arbitrary<string> = fc
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

// JSON values

const scalarText = weighted(
  [3, stringOf(encodableText)],
  [1, numberText],
  [1, oneOf("null", "true", "false", "[]", "{}", "[ ]", "{\n}")],
);
/** Values, including some that Typst cannot read. */
const wildScalarText = weighted([6, scalarText], [1, stringOf(brokenText)], [1, numberText], [1, borderNumberText]);

function valueText(scalar: Arbitrary<string>, key: Arbitrary<string>): Arbitrary<string> {
  return fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 4, arbitrary: scalar },
      { weight: 2, arbitrary: arrayOf(fc.array(tie("value"), { maxLength: 4 })) },
      { weight: 2, arbitrary: objectOf(fc.array(fc.record({ key, value: tie("value") }), { maxLength: 4 })) },
    ),
  })).value;
}

const DATE_KEY = "$__toml_private_datetime";
const NEARLY_DATE_KEY = "$__toml_private_datetimf";

const memberName = weighted(
  [4, oneOf("a", "b", "", "__proto__", "content", "é", "toString")],
  [1, oneOf(DATE_KEY, NEARLY_DATE_KEY)],
  [2, encodableText],
  [1, longText],
);

const twoDigits = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, "0"));
const timeText = fc.tuple(twoDigits(25), twoDigits(61), twoDigits(61)).map((parts) => parts.join(":"));
const year = fc.oneof(fc.integer({ min: 1895, max: 2005 }), fc.nat(10_100));
const day = weighted([2, twoDigits(32)], [3, oneOf("28", "29", "30", "31")]);
const dayText = fc
  .tuple(oneOf("", "", "", "+", "-", " "), year, twoDigits(13), day)
  .map(([sign, year, month, day]) => `${sign}${String(year).padStart(4, "0")}-${month}-${day}`);

const momentText = fc
  .tuple(dayText, oneOf("T", "T", "t", " "), timeText, oneOf("", "Z", "z", "+00:00", ".5"))
  .map((parts) => parts.join(""));

/** Text that is a date or a time for Typst, or nearly so. */
export const dateText: Arbitrary<string> = weighted(
  [4, dayText],
  [2, timeText],
  [3, momentText],
  [1, oneOf("", "2020-1-1", "1-1-1", "2020-02-30T00:00:00", "24:00:00", "00:00", "2020-01-01Z", "00:00:00Z")],
);

/** JSON text of objects that Typst reads as dates, or nearly so. */
export const dateObjectText: Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: objectOf(
    fc.array(
      fc.record({
        key: weighted([8, fc.constant(DATE_KEY)], [1, oneOf("a", NEARLY_DATE_KEY)]),
        value: fc.oneof(
          { depthSize: "small" },
          { weight: 6, arbitrary: stringOf(dateText) },
          { weight: 1, arbitrary: oneOf("1", "[]", '["2020-01-01"]') },
          { weight: 2, arbitrary: tie("value") },
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  ),
})).value;

/** Any JSON value that Typst can read. */
const tidyValueText = valueText(stringOf(encodableText), memberName);
/** Any JSON value. */
const wildValueText = valueText(wildScalarText, weighted([3, memberName], [1, brokenText]));

/** Values nested about as deep as Typst reads, with errors below, beside and after the deepest container. */
const deepValueText = fc
  .record({
    depth: fc.integer({ min: 123, max: 131 }),
    areObjects: fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }),
    leaf: wildValueText,
    sibling: wildScalarText,
    count: fc.nat(2),
  })
  .map(({ depth, areObjects, leaf, sibling, count }) => {
    let deep = `[${leaf}]`;
    for (let level = 0; level < depth; level++) {
      deep = areObjects[level % areObjects.length] === true ? `{"k":${deep}}` : `[${deep}]`;
    }
    return `[${[sibling, ...Array<string>(count).fill(deep), sibling].join(",")}]`;
  });

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
export const longKeyText: Arbitrary<string> = fc
  .tuple(fc.integer({ min: 508, max: 516 }), fc.integer({ min: 1, max: 257 }), oneOf("k", "k", ".", "/", "é"))
  .map(
    ([length, segmentLength, last]) => `${`${"k".repeat(segmentLength)}/`.repeat(length).slice(0, length - 2)}k${last}`,
  );

/** Keys that test the key rules: valid ones that collide, invalid ones, and random combinations of segments. */
export const keyText: Arbitrary<string> = weighted(
  [12, oneOf(...GOOD_KEYS)],
  [1, oneOf(...BAD_KEYS)],
  [1, oneOf(...LONG_KEYS)],
  [1, longKeyText],
  [1, fc.array(fc.string({ unit: oneOf(..."ab.-_0"), maxLength: 4 }), { maxLength: 5 }).map((s) => s.join("/"))],
);

const goodSegment = fc.string({ unit: oneOf(..."abcdefghij"), minLength: 1, maxLength: 3 });
const goodKeyText = weighted(
  [3, oneOf("main.typ", "b", "lib/x.typ", "a/b", "assets/logo.png")],
  [1, fc.array(goodSegment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/"))],
  [1, keyText],
);

const goodBase64Text = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64"));
/** Base64 and text that is nearly Base64. */
export const base64Text: Arbitrary<string> = weighted(
  [6, goodBase64Text],
  [2, fc.string({ unit: oneOf(..."AQgwZ/+9="), maxLength: 12 })],
  [1, fc.string({ unit: oneOf(..."AQ==/-_ \n", "é", "\ud800", "\u0141"), maxLength: 8 })],
);

function field(key: string, value: Arbitrary<string>): Arbitrary<WrittenMember> {
  return fc.record({ key: fc.constant(key), value });
}

function quoted(...texts: readonly string[]): Arbitrary<string> {
  return oneOf(...texts).map((text) => JSON.stringify(text));
}

const anyOrder = (...members: readonly Arbitrary<WrittenMember>[]) =>
  fc.tuple(...members).chain((list) => fc.shuffledSubarray(list, { minLength: list.length }));

const tidyFileText = fc.oneof(
  objectOf(anyOrder(field("encoding", quoted("text")), field("content", stringOf(encodableText)))),
  objectOf(anyOrder(field("encoding", quoted("base64")), field("content", stringOf(goodBase64Text)))),
);
const wildContent = field("content", stringOf(fc.oneof(base64Text, base64Text, brokenText)));
const wildFileMember = weighted(
  [5, field("encoding", stringOf(oneOf("text", "base64", "base64", "TEXT", "")))],
  [5, wildContent],
  [1, fc.record({ key: oneOf("encoding", "content", "name", "\ud800"), value: wildScalarText })],
);
const wildFileText = weighted(
  [4, tidyFileText],
  [6, objectOf(fc.array(wildFileMember, { maxLength: 4 }))],
  [6, objectOf(anyOrder(field("encoding", stringOf(oneOf("text", "base64"))), wildContent))],
  [1, wildScalarText],
);

const selectionText = weighted(
  [4, fc.integer({ min: 1, max: 12 }).map(String)],
  [4, fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(6)).map(([first, more]) => `${first}-${first + more}`)],
  [2, fc.integer({ min: 1, max: 12 }).map((first) => `${first}-`)],
);
const tidyPages = fc.array(selectionText, { minLength: 1, maxLength: 5 }).map((list) => list.join(","));
const wildPages = weighted(
  [4, tidyPages],
  [1, oneOf("", "0", "01", "1,", "-1", "5-2", "1-999999999", "1000000000", "1\n", "\ud800", "1,2-1,x")],
  [1, fc.integer({ min: 62, max: 66 }).map((count) => Array.from({ length: count }, () => "1").join(","))],
  [1, fc.integer({ min: 254, max: 258 }).map((length) => "\u{1f4c4}".repeat(length))],
  [1, fc.integer({ min: 254, max: 258 }).map((length) => `${"1234,".repeat(50)}${"9".repeat(length - 250)}`)],
);

const STANDARD_NAMES = ["ua-1", "ua-1", "a-1b", "a-1a", "a-2b", "a-2a", "a-3b", "a-3a", "a-4", "a-4f", "a-4e"];
const tidyStandards = arrayOf(fc.array(quoted(...STANDARD_NAMES), { maxLength: 2 }));
const wildStandards = arrayOf(
  fc.array(weighted([6, quoted(...STANDARD_NAMES)], [1, wildScalarText], [1, quoted("a-5", "UA-1")]), { maxLength: 4 }),
);
const integerText = weighted([3, fc.integer({ min: 1, max: 300 }).map(String)], [1, oneOf("1.0", "1e2", "300")]);
const wildNumberText = weighted(
  [2, oneOf("0", "301", "-1", "0.5", "300.5", "-0", "1e400", "-1e400", "1e300", "9007199254740993", '"144"')],
  [1, numberText],
  [1, fc.integer({ min: 1020, max: 1028 }).map((length) => `1.${"0".repeat(length - 2)}`)],
);
const filenameText = stringOf(
  weighted(
    [4, encodableText],
    [1, brokenText],
    [1, fc.integer({ min: 4090, max: 4100 }).map((length) => `${"n".repeat(length - 1)}\u{1f600}`)],
  ),
);

const orNull = (text: Arbitrary<string>) => weighted([3, text], [1, fc.constant("null")]);

/** Output members of one format, each valid by itself. */
function tidyOutput(format: "pdf" | "png" | "svg"): Arbitrary<string> {
  const ofPages = [field("page", orNull(integerText)), field("archive", orNull(quoted("zip")))];
  const own = {
    pdf: [field("version", orNull(quoted("1.4", "1.7", "2.0"))), field("standards", tidyStandards)],
    png: [...ofPages, field("ppi", integerText)],
    svg: ofPages,
  }[format];
  const optional = [field("filename", orNull(filenameText)), field("pages", orNull(stringOf(tidyPages))), ...own];
  const named = format === "pdf" ? fc.option(field("format", quoted("pdf"))) : field("format", quoted(format));
  return objectOf(
    fc
      .tuple(named, ...optional.map((member) => fc.option(member, { freq: 3 })))
      .map((members) => members.filter((member) => member !== null)),
  );
}

const wildOutputMember: Arbitrary<WrittenMember> = weighted(
  [3, field("format", quoted("pdf", "png", "svg", "png", "svg", "PDF", "html"))],
  [1, field("filename", weighted([3, filenameText], [1, wildScalarText]))],
  [2, field("version", weighted([3, quoted("1.4", "1.7", "2.0", "1.3")], [1, wildScalarText]))],
  [2, field("standards", weighted([3, wildStandards], [1, wildScalarText]))],
  [3, field("pages", weighted([5, stringOf(wildPages)], [1, wildScalarText]))],
  [2, field("page", fc.oneof(integerText, wildNumberText, wildScalarText))],
  [2, field("archive", weighted([3, quoted("zip", "tar")], [1, wildScalarText]))],
  [2, field("ppi", fc.oneof(integerText, wildNumberText, wildScalarText))],
  [1, fc.record({ key: oneOf("colour", "", "Format", "\udfff"), value: wildScalarText })],
);

const tidyOutputText = fc.oneof(tidyOutput("pdf"), tidyOutput("png"), tidyOutput("svg"));
const wildOutputText = weighted(
  [4, objectOf(fc.array(wildOutputMember, { maxLength: 5 }))],
  [3, objectOf(fc.uniqueArray(wildOutputMember, { maxLength: 5, selector: ({ key }) => key }))],
  [2, tidyOutputText],
  [1, wildScalarText],
);

// Requests

const shortText = fc.string({ unit: oneOf(...AWKWARD_UNITS), minLength: 1, maxLength: 14 });

/**
 * A request of these parts, by default the smallest. `extra` has members in addition to the four, or in place of them.
 */
function requestOf({
  source = stringOf(shortText),
  files = fc.constant<string>("{}"),
  data = fc.constant<string>("null"),
  output = fc.constant<string>("{}"),
  extra = fc.constant<readonly WrittenMember[]>([]),
}): Arbitrary<string> {
  const optional = (member: Arbitrary<WrittenMember>) => fc.option(member, { freq: 2 });
  const members = fc
    .tuple(
      extra,
      fc.option(field("source", source), { freq: 40 }),
      ...[field("files", files), field("data", data), field("output", output)].map(optional),
    )
    .chain(([more, ...others]) => {
      const list = [...others.filter((member) => member !== null), ...more];
      return fc.shuffledSubarray(list, { minLength: list.length });
    });
  return fc.tuple(whitespace, objectOf(members), whitespace).map((parts) => parts.join(""));
}

function filesText(key: Arbitrary<string>, file: Arbitrary<string>): Arbitrary<string> {
  return objectOf(fc.array(fc.record({ key, value: file }), { maxLength: 5 }));
}

/** Requests whose fields are valid: they can only break a set rule, a size limit or an output rule. */
export const tidyRequest: Arbitrary<string> = requestOf({
  files: filesText(goodKeyText, tidyFileText),
  data: tidyValueText,
  output: tidyOutputText,
});

const extraMember = fc.record({
  key: oneOf("source", "files", "data", "output", "Source", "\ud83d"),
  value: wildScalarText,
});

/** Requests with errors anywhere, often more than 20. */
export const wildRequest: Arbitrary<string> = requestOf({
  source: weighted([6, stringOf(shortText)], [1, stringOf(brokenText)], [1, wildScalarText]),
  files: weighted([9, filesText(keyText, wildFileText)], [1, wildScalarText]),
  data: weighted(
    [6, wildValueText],
    [2, deepValueText],
    [2, arrayOf(fc.array(fc.oneof(dateObjectText, wildScalarText), { maxLength: 4 }))],
    [1, arrayOf(fc.array(stringOf(brokenText), { minLength: 15, maxLength: 30 }))],
  ),
  output: wildOutputText,
  extra: weighted([6, fc.constant<WrittenMember[]>([])], [1, fc.array(extraMember, { minLength: 1, maxLength: 2 })]),
});

/** Requests in which one part is arbitrary and the others are valid. */
const mixedRequest: Arbitrary<string> = fc.oneof(
  requestOf({ files: filesText(keyText, wildFileText), output: tidyOutputText }),
  requestOf({ output: wildOutputText }),
  requestOf({ data: fc.oneof(wildValueText, deepValueText, dateObjectText) }),
);

/** The JSON text of a request, or rarely of another value. */
const requestText = weighted([8, tidyRequest], [8, mixedRequest], [8, wildRequest], [1, wildValueText]);

const alignment = fc.nat(3);

/** The bytes of a request at some offset in a buffer. */
export const requestBody: Arbitrary<Uint8Array> = fc
  .tuple(requestText, alignment)
  .map(([text, offset]) => placedAt(offset, bodyOf(text)));

/** Bytes that matter to a JSON or UTF-8 parser: those of the grammar, and the beginnings of invalid sequences. */
const INTERESTING_BYTES: readonly (readonly number[])[] = [
  ...Array.from('"\\{}[]:,0123456789+-.eEtfnu/ \n\t\r', (character) => [character.charCodeAt(0)]),
  ..."00 1f 7f 80 bf c080 c3 c3a9 e08080 e282 eda080 efbbbf f09f9880 f4908080 f7bfbfbf ff"
    .split(" ")
    .map((hex) => [...Buffer.from(hex, "hex")]),
  ...['\\"', "\\u", "\\ud800", "\\udc00", "\\u0000", "null", "1e999", '""', "[]", "{}", '"a":1,', ",,"].map((text) => [
    ...bodyOf(text),
  ]),
];

type Mutation = (bytes: Uint8Array) => Uint8Array;

const mutation: Arbitrary<Mutation> = fc
  .tuple(fc.nat(), fc.constantFrom(...INTERESTING_BYTES), fc.nat(255), fc.nat(12), fc.nat(6))
  .map(([place, piece, byte, length, kind]) => (bytes) => {
    const at = place % (bytes.length + 1);
    const changes: (readonly [removed: number, added: readonly number[] | Uint8Array])[] = [
      [1, [byte]],
      [1, [(bytes[at] ?? 0) ^ (1 << (length & 7))]],
      [1 + length, []],
      [0, bytes.subarray(at, at + length)],
      [piece.length, piece],
    ];
    const [removed, added] = changes[kind] ?? [0, piece];
    return Buffer.concat([bytes.subarray(0, at), Uint8Array.from(added), bytes.subarray(at + removed)]);
  });

/** The bytes of a request with a few bytes changed, added or removed. */
export const mutatedBody: Arbitrary<Uint8Array> = fc
  .tuple(requestText, fc.array(mutation, { minLength: 1, maxLength: 3 }), alignment)
  .map(([text, mutations, offset]) => {
    const mutated = mutations.reduce((bytes, mutate) => mutate(bytes), bodyOf(text));
    return placedAt(offset, mutated);
  });

/** Bytes that are rarely JSON: random ones, and tokens of the grammar in random order. */
export const randomBody: Arbitrary<Uint8Array> = fc
  .tuple(
    weighted(
      [1, fc.uint8Array({ maxLength: 64 }).map((bytes) => [...bytes])],
      [3, fc.array(fc.constantFrom(...INTERESTING_BYTES), { maxLength: 24 }).map((pieces) => pieces.flat())],
    ),
    alignment,
  )
  .map(([bytes, offset]) => placedAt(offset, Uint8Array.from(bytes)));
