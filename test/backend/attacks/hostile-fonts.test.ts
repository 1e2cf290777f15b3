/** Hostile fonts among the `files` of a request. */
import { describe, expect, it } from "vitest";
import { binaryFile, type SentFile } from "../../support/backend/request-files.ts";
import { expectNothingLeft, sharedBackends, type TestBackend } from "../../support/backend/test-backend.ts";
import {
  collectionHeader,
  fontNamesOf,
  fontOf,
  LIBERATION_FAMILY,
  liberation,
  tablesOf,
  withTables,
} from "../../support/fonts.ts";
import { expectProblem } from "../../support/problems.ts";

const MEBIBYTE = 1024 ** 2;
const MAX_UINT16 = 0xffff;
const MAX_UINT32 = 0xffffffff;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const SOURCE = `#set text(font: "${LIBERATION_FAMILY}")\n${ALPHABET}`;
const PNG = { format: "png" };

// Fonts that lie, and fonts that are too much: made of a sound one, table by table.

const TABLE_RECORDS_START = 12;
const TABLE_RECORD_BYTES = 16;

/** The font truncated at `count` lengths, the first within its header, then at ever wider intervals. */
function truncations(font: Buffer, count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => font.subarray(0, Math.floor(font.length ** (index / count))));
}

/** The font with a number of every table's record changed: at 8 its offset, at 12 its length. */
function withTableRecords(font: Buffer, place: 8 | 12, value: number): Buffer[] {
  return [...tablesOf(font).keys()].map((_, index) => {
    const copy = Buffer.from(font);
    copy.writeUInt32BE(value, TABLE_RECORDS_START + index * TABLE_RECORD_BYTES + place);
    return copy;
  });
}

/** The font with each of its tables empty or nothing but 0xff. */
function withBrokenTables(font: Buffer): Buffer[] {
  const tables = [...tablesOf(font)];
  return tables.flatMap(([tag, table]) => [
    withTables(font, { [tag]: Buffer.alloc(0) }),
    withTables(font, { [tag]: Buffer.alloc(table.length, 0xff) }),
  ]);
}

/** The font in few bytes: with the tables that it needs to be one, and without an outline. */
function withoutOutlines(font: Buffer): Buffer {
  const NEEDED = new Set(["cmap", "head", "hhea", "hmtx", "maxp", "name", "OS/2"]);
  return fontOf(new Map([...tablesOf(font)].filter(([tag]) => NEEDED.has(tag))));
}

/** The font with a count of 65535 tables, most of them not there. */
function withMostTables(font: Buffer): Buffer {
  const copy = Buffer.from(font);
  copy.writeUInt16BE(MAX_UINT16, 4);
  return copy;
}

/**
 * The font with many names for its family, each of 64 KiB and all in the same bytes: 65535 of them are four gigabytes.
 *
 * @param claimed how many the table says that there are.
 * @param count how many there are.
 */
function withLongNames(font: Buffer, claimed: number, count: number): Buffer {
  const FAMILY = 1;
  const header = words(0, claimed, 6);
  const records = Array.from({ length: count }, () => words(3, 1, 0x409, FAMILY, MAX_UINT16, 0));
  // The texts begin at the records and go on behind them.
  return withTables(font, { name: Buffer.concat([header, ...records, Buffer.alloc(MAX_UINT16, 0x41)]) });
}

/** A collection that claims 2^32 - 1 fonts and holds none. */
function boundlessCollection(): Buffer {
  const header = collectionHeader([MAX_UINT32]);
  header.writeUInt32BE(MAX_UINT32, 8);
  return header;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value & MAX_UINT16, 2 * index);
  return bytes;
}

const LIMITS = {
  SERVICE_MAX_CONCURRENT_RENDERS: "2",
  // The limits on memory and on processor time stop the renders here, however slow the machine is.
  SERVICE_RENDER_TIMEOUT_SECONDS: "60",
  SERVICE_RENDER_MEMORY_BYTES: String(256 * MEBIBYTE),
};

type Files = Readonly<Record<string, SentFile>>;

const limitedBackend = sharedBackends(LIMITS);

const sent = (fonts: readonly Buffer[], extension = "ttf"): Files =>
  Object.fromEntries(fonts.map((font, index) => [`${index}.${extension}`, binaryFile(font)]));

const fontsUsed = async (backend: TestBackend, files: Files) =>
  fontNamesOf(await backend.renderFile({ source: SOURCE, files }));

const ordinaryRender = (backend: TestBackend) => backend.renderFile({ source: "An ordinary letter" });

const SOUND = await liberation("Regular");

it("a valid font is used, so the tests below can tell when another one is", async () => {
  expect(await fontsUsed(await limitedBackend(), sent([SOUND]))).toEqual(new Set(["LiberationSans"]));
});

it.each<[string, () => Files]>([
  ["a font cut off at 64 places", () => sent(truncations(SOUND, 64))],
  ["a font that claims 65535 tables", () => sent([withMostTables(SOUND)])],
  [
    "a table of names that claims four gigabytes and ends before",
    () => sent([withLongNames(withoutOutlines(SOUND), MAX_UINT16, 1000)]),
  ],
  ["a collection of itself", () => sent([collectionHeader([0, 0, 0])], "ttc")],
  ["empty files", () => sent(Array.from({ length: 64 }, () => Buffer.alloc(0)))],
  [
    "the beginning of a font and then garbage",
    () =>
      sent(
        Array.from({ length: 12 }, () => Buffer.concat([SOUND.subarray(0, 400), Buffer.alloc(MEBIBYTE - 400, 0x79)])),
      ),
  ],
])("a file that Typst cannot load as a font is ignored: %s", async (_what, files) => {
  const backend = await limitedBackend();
  const [used] = await Promise.all([fontsUsed(backend, files()), ordinaryRender(backend)]);
  expect(used).not.toContain("LiberationSans");
  await expectNothingLeft(backend);
});

describe("a font with false tables", () => {
  it("fails its own render at most, and never as a failure of the service", async () => {
    const backend = await limitedBackend();
    const requests = [
      ...withBrokenTables(SOUND).map((font) => [font]),
      withTableRecords(SOUND, 8, MAX_UINT32),
      withTableRecords(SOUND, 12, MAX_UINT32),
    ];
    const codes = new Set<string>();
    for (const [index, fonts] of requests.entries()) {
      const output = index % 4 < 2 ? {} : PNG;
      const answer = await backend.render({ source: SOURCE, files: sent(fonts), output });
      if (answer.status === 200) await answer.bytes();
      else await expectProblem(answer, "template_compile_failed");
      codes.add(String(answer.status));
    }
    // Typst can use some of them, and not others.
    expect(codes).toEqual(new Set(["200", "422"]));
    await ordinaryRender(backend);
    await expectNothingLeft(backend);
  });

  it("does not hide a valid font of the same name", async () => {
    const backend = await limitedBackend();
    const files = sent([...truncations(SOUND, 32), SOUND, withMostTables(SOUND)]);
    expect(await fontsUsed(backend, files)).toEqual(new Set(["LiberationSans"]));
  });
});

it("a thousand fonts take time, but the document is rendered", async () => {
  const backend = await limitedBackend({
    SERVICE_MAX_INLINE_FILES: "1024",
    SERVICE_MAX_REQUEST_BODY_BYTES: String(64 * MEBIBYTE),
  });
  // Without outlines they are small enough for a request.
  const small = withoutOutlines(SOUND);
  const files = sent(Array.from({ length: 1024 }, () => small));
  await Promise.all([backend.renderFile({ source: "Hello", files }), ordinaryRender(backend)]);
  await expectNothingLeft(backend);
});

const named = (count: number) => sent([withLongNames(withoutOutlines(SOUND), count, count)]);
/** The font alone is the cause: under another name Typst does not read it. */
const boundless = (extension: string) => sent([boundlessCollection()], extension);

it.each([
  ["memory", "four gigabytes of names", "template_compile_failed", "60", named(MAX_UINT16), named(9)],
  [
    "processor time",
    "a collection of sixteen bytes that claims four thousand million fonts",
    "render_timeout",
    "1",
    boundless("otc"),
    boundless("bin"),
  ],
] as const)(
  "an expensive font is stopped by the limit of every render on %s: %s",
  async (limit, _what, code, cpuSeconds, hostile, harmless) => {
    const backend = await limitedBackend({ SERVICE_RENDER_CPU_SECONDS: cpuSeconds });
    const [problem] = await Promise.all([
      backend.render({ source: SOURCE, files: hostile }).then((answer) => expectProblem(answer, code)),
      backend.renderFile({ source: SOURCE, files: harmless }),
    ]);
    expect(problem.detail).toContain(limit);
    await expectNothingLeft(backend);
  },
);
