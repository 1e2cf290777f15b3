/** Questions and answers of DNS: what the edge asks, and what it believes of an answer that may hold anything. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeQuestion, parseAnswer, type SrvAnswer } from "../../../edge/backends/dns-message.ts";

const QUESTION = { name: "_http._tcp.b.example", id: 0x1234 };
const SRV = 33;
const A = 1;
const AAAA = 28;
const CNAME = 5;

const uint16 = (...numbers: readonly number[]) => numbers.flatMap((number) => [number >> 8, number & 0xff]);
const nameOf = (text: string) => [
  ...text.split(".").flatMap((label) => [label.length, ...new TextEncoder().encode(label)]),
  0,
];
const pointerTo = (at: number) => [0xc0 | (at >> 8), at & 0xff];
/** The name of the question. */
const ASKED = pointerTo(12);

interface Answer {
  readonly id?: number;
  readonly flags?: number;
  readonly questions?: number;
  readonly asked?: readonly number[];
  readonly records?: readonly (readonly number[])[];
  readonly additional?: readonly (readonly number[])[];
  /** Said in the header, if not as many as there are. */
  readonly count?: number;
}

function answerOf({
  id = QUESTION.id,
  flags = 0x8580,
  questions = 1,
  asked,
  records = [],
  additional = [],
  count,
}: Answer): Uint8Array {
  return Uint8Array.from([
    ...uint16(id, flags, questions, count ?? records.length, 0, additional.length),
    ...(asked ?? [...nameOf(QUESTION.name), ...uint16(SRV, 1)]),
    ...records.flat(),
    ...additional.flat(),
  ]);
}

const recordOf = (owner: readonly number[], type: number, data: readonly number[], dnsClass = 1) => [
  ...owner,
  ...uint16(type, dnsClass, 0, 30, data.length),
  ...data,
];
const service = (host: readonly number[], port = 8788, owner: readonly number[] = ASKED) =>
  recordOf(owner, SRV, [...uint16(0, 100, port), ...host]);
const parse = (answer: Answer): SrvAnswer => parseAnswer(answerOf(answer), QUESTION);

it("a question has its length before it, and asks for the SRV records of a name", () => {
  expect([...encodeQuestion({ name: "_a.bc", id: 0xfeff })]).toEqual([
    ...uint16(23, 0xfeff, 0x0100, 1, 0, 0, 0),
    ...[2, 0x5f, 0x61, 2, 0x62, 0x63, 0],
    ...uint16(33, 1),
  ]);
});

const ONE = service(nameOf("one.b.example"));
/** A record with an address, whose owner is written in any way. */
const addressOf = (owner: readonly number[]) => recordOf(owner, A, [1, 2, 3, 4]);
/** Where the name of the first record begins. */
const OWNER = 12 + 22 + 4;

describe("an answer", () => {
  const whole = answerOf({ records: [ONE], additional: [addressOf(nameOf("one.b.example"))] });

  it("names hosts with their ports, and their addresses where it has them", () => {
    expect(
      parse({
        records: [
          service(nameOf("One.b.example")),
          service(nameOf("two.b.example"), 80),
          service(nameOf("three.b.example"), 65_535),
        ],
        additional: [
          recordOf(nameOf("one.b.example"), AAAA, [0xfd, ...Array(14).fill(0), 1]),
          recordOf(nameOf("ONE.b.example"), A, [10, 0, 0, 2]),
          recordOf(nameOf("one.b.example"), A, [10, 0, 0, 1]),
          recordOf(nameOf("two.b.example"), AAAA, [0xfd, ...Array(14).fill(0), 1]),
        ],
      }),
    ).toEqual({
      kind: "records",
      records: [
        { host: "one.b.example", port: 8788, address: "10.0.0.1" },
        { host: "two.b.example", port: 80, address: "[fd00::1]" },
        { host: "three.b.example", port: 65_535, address: null },
      ],
    });
  });

  it("may point to names before, and in them to others", () => {
    const example = [0xc0, 12 + "_http._tcp.b.".length];
    const one = [3, ...new TextEncoder().encode("one"), ...example];
    expect(parse({ records: [service(one)], additional: [recordOf([0xc0, OWNER + 18], A, [10, 0, 0, 1])] })).toEqual({
      kind: "records",
      records: [{ host: "one.example", port: 8788, address: "10.0.0.1" }],
    });
  });

  it("may have a name of 127 labels, each before a pointer, and no more pointers than these", () => {
    // The data of a record that means nothing: the root, then labels that each point to the one before.
    const [root, labels] = [OWNER + 2 + 10, 126];
    const chain = (count: number) => [
      0,
      ...Array.from({ length: count }, (_, index) => [
        1,
        0x61,
        ...pointerTo(root + (index === 0 ? 0 : 4 * index - 3)),
      ]).flat(),
    ];
    const last = root + 4 * labels + 1 - 4;
    const long = recordOf(ASKED, 99, [...chain(labels), ...pointerTo(last)]);
    const ends = (pointer: number) => parse({ records: [long, addressOf(pointerTo(pointer))] });
    expect(ends(last)).toEqual({ kind: "none" });
    // Pointers without labels between them.
    const only = (count: number) => [
      0,
      ...Array.from({ length: count }, (_, index) => pointerTo(root + Math.max(0, 2 * index - 1))).flat(),
    ];
    const endsAfter = (count: number) =>
      parse({ records: [recordOf(ASKED, 99, only(count)), addressOf(pointerTo(root + 2 * count - 1))] });
    expect(endsAfter(127)).toEqual({ kind: "none" });
    expect(endsAfter(128)).toEqual({ kind: "failed", reason: "a name does not end" });
  });

  const aliases = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      recordOf(index === 0 ? ASKED : nameOf(`a${index}.example`), CNAME, nameOf(`a${index + 1}.example`)),
    );

  it("may have the records of an alias of the name, through up to 8 of them in any order", () => {
    for (const count of [1, 8]) {
      const service8 = service(nameOf("one.b.example"), 8788, nameOf(`A${count}.example`));
      const found = { kind: "records", records: [{ host: "one.b.example", port: 8788, address: null }] };
      expect(parse({ records: [...aliases(count), service8] })).toEqual(found);
      expect(parse({ records: [service8, ...aliases(count).toReversed()] })).toEqual(found);
    }
    expect(parse({ records: [...aliases(9), service(nameOf("one.b.example"), 8788, nameOf("a9.example"))] })).toEqual({
      kind: "none",
    });
    // Beside an alias the name has no other records (RFC 1034, section 3.6.2), and an alias of itself has none.
    expect(parse({ records: [...aliases(1), ONE] })).toEqual({ kind: "none" });
    expect(parse({ records: [recordOf(ASKED, CNAME, ASKED), ONE] })).toEqual({ kind: "none" });
  });

  it("may have records of other names, types and classes, which tell nothing", () => {
    expect(
      parse({
        records: [
          service(nameOf("one.b.example"), 8788, nameOf("_http._tcp.other.example")),
          recordOf(ASKED, CNAME, nameOf("other.example")),
          recordOf(ASKED, SRV, [...uint16(0, 0, 1), ...nameOf("two.b.example")], 3),
          recordOf([0], 41, [0, 1, 2]),
        ],
      }),
    ).toEqual({ kind: "none" });
  });

  it.each([
    ["port 0", service(nameOf("one.b.example"), 0)],
    ["the root, which means that there is no service", service([0])],
    ["a host with an underscore", service(nameOf("o_ne.b.example"))],
    ["a host that begins with a hyphen", service(nameOf("-one.b.example"))],
    ["a host with other characters", service(nameOf("one/.b.example"))],
    ["a host with a dot in a label", service([3, 0x61, 0x2e, 0x62, 0])],
    ["a host that is an address", service(nameOf("127.0.0.1"))],
    ["a host that URLs take for an address", service(nameOf("a.0x7f"))],
  ])("skips a record with %s", (_what, record) => {
    expect(parse({ records: [record] })).toEqual({ kind: "none" });
    expect(parse({ records: [record, ONE] })).toMatchObject({ records: { length: 1 } });
  });

  it("may say that there is no such name", () => {
    expect(parse({ flags: 0x8583 })).toEqual({ kind: "none" });
    expect(parse({})).toEqual({ kind: "none" });
  });

  it.each<[string, Answer]>([
    ["another id", { id: 0x1235 }],
    ["a question", { flags: 0x0100 }],
    ["the answer to something other than a query", { flags: 0x8d80 }],
    ["a truncated answer", { flags: 0x8780, records: [ONE] }],
    ["a failure", { flags: 0x8582 }],
    ["a refusal", { flags: 0x8585 }],
    ["no question", { questions: 0, asked: [] }],
    ["two questions", { questions: 2 }],
    ["the question for another name", { asked: [...nameOf("_http._tcp.c.example"), ...uint16(SRV, 1)] }],
    ["the question for another type", { asked: [...nameOf(QUESTION.name), ...uint16(A, 1)] }],
    ["the question for another class", { asked: [...nameOf(QUESTION.name), ...uint16(SRV, 3)] }],
    ["fewer records than it says", { records: [ONE], count: 2 }],
    ["65,535 records that are not there", { count: 65_535 }],
    ["a record that is longer than the answer", { records: [[...ASKED, ...uint16(SRV, 1, 0, 30, 100), 0, 0]] }],
    ["a name that is longer than its record", { records: [[...service([0xc0]), 0, 0]] }],
    [
      "a name that goes on beyond its record",
      { records: [recordOf(ASKED, SRV, [...uint16(0, 0, 1), 5, 0x61]), service([0])] },
    ],
    ["an address of five bytes", { additional: [recordOf(ASKED, A, [1, 2, 3, 4, 5])] }],
    ["an IPv6 address of four bytes", { additional: [recordOf(ASKED, AAAA, [1, 2, 3, 4])] }],
    ["a name that points to itself", { records: [addressOf([0xc0, OWNER])] }],
    ["a name that points to one that points to it", { records: [addressOf([0xc0, OWNER + 2, 0xc0, OWNER])] }],
    ["a label before a pointer to it", { records: [addressOf([1, 0x61, 0xc0, OWNER])] }],
    ["a name that points to what comes later", { records: [addressOf([0xc0, 0xff])] }],
    ["a label of 64 bytes", { records: [addressOf([64, ...Array(64).fill(0x61), 0])] }],
    ["a label of the reserved kind", { records: [addressOf([0x81, 0x61, 0])] }],
    ["a name of 256 bytes", { records: [addressOf(nameOf(`${"a.".repeat(126)}aa`))] }],
  ])("is worthless that is, or has, %s", (_what, answer) => {
    expect(parse(answer)).toEqual({ kind: "failed", reason: expect.any(String) });
  });

  it("is worthless when it is cut off anywhere", () => {
    expect(parseAnswer(whole, QUESTION)).toMatchObject({ kind: "records" });
    for (let length = 0; length < whole.length; length++) {
      expect(parseAnswer(whole.subarray(0, length), QUESTION)).toMatchObject({ kind: "failed" });
    }
  });

  it("may hold any bytes", () => {
    const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 8 });
    fc.assert(
      fc.property(changes, fc.uint8Array({ maxLength: 64 }), (changed, more) => {
        const bytes = Uint8Array.from([...whole, ...more]);
        for (const [at, byte] of changed) bytes[at] = byte;
        const answer = parseAnswer(bytes, QUESTION);
        if (answer.kind !== "records") return;
        for (const { host, port, address } of answer.records) {
          const url = new URL(`http://${host}:${port}`);
          expect([url.hostname, URL.canParse(`http://${address ?? host}`), port > 0]).toEqual([host, true, true]);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
