/** What is read from font files, compared with what Typst says about the same files and shows in them; and damaged files. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFontList } from "../../../backend/compiler/capabilities.ts";
import { readDocumentFonts } from "../../../clients/document/fonts/document-fonts.ts";
import { hasCharacter } from "../../../typst/fonts/characters.ts";
import { fontFaces, readFonts } from "../../../typst/fonts/font-file.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { typstPdf } from "../../support/backend/typst-pdf.ts";
import {
  axisTable,
  collectionOf,
  fontOf,
  LIBERATION_FAMILY,
  liberation,
  nameTable,
  otherCharacterTable,
  tablesOf,
  withStyle,
  withTables,
} from "../../support/fonts.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const REGULAR = await liberation("Regular");
const BOLD = await liberation("Bold");

async function folderOf(fonts: readonly Buffer[]): Promise<string> {
  const folder = await makeTemporaryFolder("font-file-test-");
  for (const [index, font] of fonts.entries()) await writeFile(join(folder, `${index}.ttf`), font);
  return folder;
}

/** What Typst says of fonts. */
async function listFonts(fonts: readonly Buffer[]): Promise<string> {
  const options = ["--ignore-system-fonts", "--ignore-embedded-fonts", "--font-path", await folderOf(fonts)];
  return (await execa(typstPath(), ["fonts", "--variants", ...options])).stdout;
}

const named = (family: string, more = {}, font = REGULAR) => withTables(font, { name: nameTable(family, more) });
const without = (tag: string) => fontOf(new Map([...tablesOf(REGULAR)].filter(([each]) => each !== tag)));

const NAMES = ["Inter", "Cantarell Semi Bold Italic", "Footlight MT Light", "Font Ultra Bold", "Other Ultra"];
NAMES.push("Noto Sans Mono Cond SemBd", "Noto Serif SEMCOND SemBd", "Familx", "Normandy Normal", ".Hidden Light");
NAMES.push("Ubuntu-Medium", "Größe Schrift", "源ノ角ゴシック Bold");
const ITALIC = 1;
const OBLIQUE = 0x200;
const SEEN: readonly Buffer[] = [
  ...NAMES.map((name) => named(name)),
  named("Slanted", { 4: "Full Slanted" }),
  named("Italic", { 4: "Full Italic" }),
  ...[
    withStyle(REGULAR, { weight: 350, width: 3 }),
    withStyle(REGULAR, { weight: 1000, width: 9 }),
    withStyle(REGULAR, { width: 0 }),
    withStyle(REGULAR, { selection: ITALIC }),
    withStyle(REGULAR, { selection: OBLIQUE }),
    withTables(REGULAR, { "OS/2": Buffer.alloc(4) }),
    withTables(REGULAR, { fvar: axisTable({ wght: [1, 400, 1000], wdth: [75, 100, 100] }) }),
    withTables(REGULAR, { fvar: axisTable({ slnt: [-10, 0, 0] }) }),
    withTables(REGULAR, { fvar: axisTable({ ital: [0, 0, 1], opsz: [8, 12, 72] }) }),
    withTables(REGULAR, { fvar: axisTable({}) }),
    BOLD,
  ].map((font, index) => named(`Font ${index}`, {}, font)),
  collectionOf([named("First"), named("Second", {}, BOLD)]),
];

it("families, styles, weights and widths are those that Typst lists", async () => {
  const sorted = (fonts: readonly { family: string; variants: readonly object[] }[]) =>
    fonts.map(({ family, variants }) => [family, variants.map((one) => JSON.stringify(one)).toSorted()]).toSorted();
  const read = sorted(SEEN.flatMap((font) => fontFaces(font)));
  expect(read).toEqual(sorted(parseFontList(await listFonts(SEEN))));
  expect(read).toHaveLength(SEEN.length + 1);
});

it.each([
  ["no PostScript name", named("Other", { 6: null })],
  ["no family", named("Other", { 1: null })],
  ["no tables", without("name")],
  ["no tables", without("hhea")],
  ["cut off", REGULAR.subarray(0, REGULAR.length / 2)],
] as const)("a font that Typst does not see has a reason: %s (%#)", async (obstacle, font) => {
  expect(readFonts(font)).toEqual([expect.objectContaining({ face: null, obstacle })]);
  expect(await listFonts([font])).toBe("");
});

it("a family of an absurd length is unknown", () => {
  const families = (length: number) => fontFaces(named("x".repeat(length))).map(({ family }) => family);
  expect([families(512), families(513)]).toEqual([["x".repeat(512)], []]);
});

it("a font is for text unless it has one width or a table for formulas", () => {
  const isForText = (font: Buffer) => fontFaces(font)[0]?.isForText;
  const post = Buffer.from(tablesOf(REGULAR).get("post") ?? []);
  post.writeUInt32BE(1, 12);
  const fonts = [REGULAR, withTables(REGULAR, { MATH: Buffer.alloc(10) }), withTables(REGULAR, { post })];
  expect(fonts.map(isForText)).toEqual([true, false, false]);
});

/** What Typst shows of text in these fonts alone. */
async function shownIn(fonts: readonly Buffer[], family: string, text: string) {
  const options = ["--ignore-embedded-fonts", "--font-path", await folderOf(fonts)];
  return readDocumentFonts(await typstPdf(`#set text(font: "${family}", fallback: false)\n${text}`, [], options));
}

describe("the characters of a font", () => {
  it("are those that Typst shows in it, and no others", async () => {
    const ranges = fontFaces(REGULAR)[0]?.characters ?? [];
    const letters = Array.from({ length: 0x3000 - 0x21 }, (_, index) => String.fromCodePoint(0x21 + index));
    const asked = letters.filter((letter) => /[\p{L}\p{N}\p{Sc}]/u.test(letter));
    const known = asked.filter((letter) => hasCharacter(ranges, letter.codePointAt(0) ?? 0));
    const found = await shownIn([REGULAR], LIBERATION_FAMILY, asked.map((letter) => `#"${letter}"`).join("\n"));
    const shown = new Set(found?.fonts.flatMap(({ characters }) => [...characters]));
    expect(known.length).toBeGreaterThan(400);
    // A letter may be shown as its base and a mark.
    const isShown = (letter: string) => [...letter.normalize("NFD")].every((part) => shown.has(part));
    expect(known.filter((letter) => !shown.has(letter) && !isShown(letter))).toEqual([]);
    expect(asked.filter((letter) => shown.has(letter) && !known.includes(letter))).toEqual([]);
  });

  const trimmed = Buffer.concat([words(0, 262, 0), Buffer.alloc(65), Buffer.from([9, 9]), Buffer.alloc(189)]);

  it.each([
    ["0", 0, 3, trimmed, [[65, 66]]],
    ["4", 3, 1, words(4, 32, 0, 4, 0, 0, 0, 0x42, 0xffff, 0, 0x40, 0xffff, 0xffc0, 1, 0, 0), [[0x41, 0x42]]],
    ["6", 3, 1, words(6, 16, 0, 0x5c70, 3, 0, 40, 41), [[0x5c71, 0x5c72]]],
    ["10", 0, 4, words(10, 0, 0, 24, 0, 0, 1, 0xf600, 0, 2, 40, 41), [[0x1f600, 0x1f601]]],
    ["13", 3, 10, words(13, 0, 0, 28, 0, 0, 0, 1, 0, 0x5c71, 1, 0xf600, 0, 40), [[0x5c71, 0x1f600]]],
  ] as const)(
    "are read as Typst reads them from a table in the format %s",
    async (_, platform, encoding, table, ranges) => {
      const font = named("Few", {}, withTables(REGULAR, { cmap: otherCharacterTable(platform, encoding, table) }));
      expect(fontFaces(font)[0]?.characters).toEqual(ranges);
      const text = ranges[0].map((code) => `#"\\u{${code.toString(16)}}"`).join("");
      expect((await shownIn([font], "Few", text))?.boxes).toBe(0);
    },
  );
});

/** Numbers of two bytes. */
function words(...values: readonly number[]): Buffer {
  return Buffer.from(Uint16Array.from(values).buffer).swap16();
}

describe("a file that is no font", () => {
  it("has no fonts", async () => {
    const files = ["", "ttcf", "%PDF-1.7, which is longer than the header of a font"].map((text) => Buffer.from(text));
    for (const file of [...files, await readFile(import.meta.filename)]) expect(fontFaces(file)).toEqual([]);
  });

  it("never throws, however a font is damaged, and a range ends where the next begins", () => {
    const tables = [...tablesOf(REGULAR)].map(([, table]) => table.byteOffset - REGULAR.byteOffset);
    const cmap = tablesOf(REGULAR).get("cmap") ?? Buffer.alloc(0);
    const inCharacters = fc
      .oneof(fc.nat(40), fc.nat(cmap.length - 1))
      .map((offset) => cmap.byteOffset - REGULAR.byteOffset + offset);
    const inTables = fc.constantFrom(...tables).chain((at) => fc.nat(64).map((offset) => at + offset));
    const damages = fc.array(fc.tuple(fc.oneof(fc.nat(400), inTables, inCharacters), fc.nat(255)), { maxLength: 20 });
    const ends = fc.oneof(fc.nat(REGULAR.length), fc.constant(REGULAR.length));
    fc.assert(
      fc.property(damages, ends, (changes, end) => {
        const damaged = Buffer.from(REGULAR);
        for (const [at, value] of changes) damaged[at] = value;
        const faces = fontFaces(damaged.subarray(0, end));
        expect(faces.length).toBeLessThanOrEqual(64);
        for (const { characters } of faces) {
          let before = -1;
          for (const [first, last] of characters) {
            expect(first).toBeGreaterThan(before);
            expect(last).toBeGreaterThanOrEqual(first);
            before = last;
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
