/** What is read from font files, compared with what Typst says about the same files, and from files that are none. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EMBEDDED_CODE_POINTS } from "../../backend/typst/embedded-fonts.ts";
import { codePointsOf, hasCodePoint, parseCodePoints } from "../../protocol/code-points.ts";
import { fontFaces } from "../../protocol/font-file.ts";
import { collectionOf, LIBERATION_FAMILY, liberation, nameTable, tablesOf, withTables } from "../support/fonts.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { typstPath } from "../support/typst-path.ts";

/** A table of characters with one subtable. */
function characterTable(format: number, content: Buffer, platform = 3, encoding = 10): Buffer {
  const header = Buffer.alloc(12);
  for (const [place, value] of [0, 1, platform, encoding].entries()) header.writeUInt16BE(value, 2 * place);
  header.writeUInt32BE(header.length, 8);
  const subtable = Buffer.concat([Buffer.alloc(2), content]);
  subtable.writeUInt16BE(format);
  return Buffer.concat([header, subtable]);
}

const words = (...values: readonly number[]) => {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
};
const longs = (...values: readonly number[]) => words(...values.flatMap((value) => [value >>> 16, value & 0xffff]));
const withCharacters = async (cmap: Buffer) => withTables(await liberation("Regular"), { cmap });
const charactersOf = async (cmap: Buffer) => fontFaces(await withCharacters(cmap))[0]?.codePoints;

describe("the family", () => {
  it.each([
    "Inter",
    "Inter Semi Bold Italic",
    "Footlight MT Light",
    "Font Ultra Bold",
    "Font Ultra",
    "Noto Sans Mono Cond SemBd",
    "Noto Serif SEMCOND SemBd",
    "Familx",
    "Normandy Normal",
    ".Hidden Light",
    "Ubuntu-Medium",
    "Größe Schrift",
    "源ノ角ゴシック Bold",
  ])("of a font named %s is the one that Typst lists", async (name) => {
    const folder = await makeTemporaryFolder("font-file-test-");
    const font = withTables(await liberation("Regular"), { name: nameTable(name) });
    await writeFile(join(folder, "font.ttf"), font);
    const options = ["--ignore-system-fonts", "--ignore-embedded-fonts", "--font-path", folder];
    const { stdout } = await execa(typstPath(), ["fonts", ...options]);
    expect(fontFaces(font).map(({ family }) => family)).toEqual([stdout]);
  });

  it("of each font of a collection is known", async () => {
    const other = withTables(await liberation("Bold"), { name: nameTable("Other") });
    const faces = fontFaces(collectionOf([await liberation("Regular"), other]));
    expect(faces.map(({ family }) => family)).toEqual([LIBERATION_FAMILY, "Other"]);
  });

  it("is unknown without a table of names, or with a name of an absurd length", async () => {
    const regular = await liberation("Regular");
    expect(fontFaces(withTables(regular, { name: Buffer.alloc(6) }))).toMatchObject([{ family: null }]);
    expect(fontFaces(withTables(regular, { name: nameTable("x".repeat(512)) }))).toMatchObject([
      { family: "x".repeat(512) },
    ]);
    expect(fontFaces(withTables(regular, { name: nameTable("x".repeat(513)) }))).toMatchObject([{ family: null }]);
  });
});

describe("the characters", () => {
  it("of the fonts in Typst are those that it can show, and no others", async () => {
    const known = codePointsOf(Object.values(EMBEDDED_CODE_POINTS).flatMap((text) => parseCodePoints(text) ?? []));
    // Letters, symbols and scripts from all over Unicode. PDF/A makes Typst name what no font has.
    const tried = Array.from({ length: 1200 }, (_, index) => String.fromCodePoint(0xa1 + index * 97)).filter(
      (character) => /^[\p{L}\p{N}\p{S}]$/u.test(character) && character.normalize("NFD") === character,
    );
    const folder = await makeTemporaryFolder("font-file-test-");
    const source = tried.map((character) => `#"${character}"`).join("\n\n");
    await mkdir(join(folder, "out"));
    await writeFile(join(folder, "main.typ"), source);
    const compile = ["compile", "--ignore-system-fonts", "--pdf-standard", "a-2b", "main.typ", "out/main.pdf"];
    const { stderr } = await execa(typstPath(), compile, { cwd: folder, reject: false });
    const missing = [...stderr.matchAll(/the text `"(.+)"` could not be displayed/gu)].map(([, text]) => text);
    expect(missing.length).toBeGreaterThan(100);
    expect(tried.filter((character) => !hasCodePoint(known, character.codePointAt(0) ?? 0))).toEqual(missing);
  });

  it("are read from each usual kind of table", async () => {
    // Two segments and the last one: the second has a list of glyphs, in which one is missing.
    const segments = [words(0x41, 0x53, 0xffff), words(0), words(0x40, 0x50, 0xffff), words(1, 0, 1), words(0, 4, 0)];
    const ends = Buffer.concat([words(0, 0, 6, 0, 0, 0), ...segments, words(7, 0, 8, 9)]);
    expect(await charactersOf(characterTable(4, ends, 3, 1))).toEqual([
      [0x40, 0x41],
      [0x50, 0x50],
      [0x52, 0x53],
    ]);
    expect(await charactersOf(characterTable(6, words(10, 0, 0x30, 3, 5, 0, 6), 0, 3))).toEqual([
      [0x30, 0x30],
      [0x32, 0x32],
    ]);
    const trimmed = Buffer.concat([words(0), longs(0, 0, 0x1f600, 3), words(5, 5, 0)]);
    expect(await charactersOf(characterTable(10, trimmed))).toEqual([[0x1f600, 0x1f601]]);
    const groups = Buffer.concat([words(0), longs(0, 0, 2, 0x4e00, 0x4e10, 0, 0x20, 0x7e, 3)]);
    expect(await charactersOf(characterTable(12, groups))).toEqual([
      [0x20, 0x7e],
      [0x4e01, 0x4e10],
    ]);
  });

  it("are unknown in another kind of table, and none in a font of symbols", async () => {
    expect(await charactersOf(characterTable(2, Buffer.alloc(600)))).toBeNull();
    expect(await charactersOf(characterTable(4, Buffer.alloc(600), 3, 0))).toEqual([]);
  });

  it("are unknown if the table goes beyond the end of the file", async () => {
    const table = characterTable(12, Buffer.concat([words(0), longs(0, 0, 0xffff_ffff, 0x20, 0x7e, 3)]));
    expect(await charactersOf(table)).toBeNull();
  });

  it("of segments that overlap without end are read once", async () => {
    const count = 8000;
    const all = (value: number) => words(...Array.from({ length: count }, () => value));
    const table = Buffer.concat([words(0, 0, 2 * count, 0, 0, 0), all(0xfffe), words(0), all(1), all(0), all(0)]);
    expect(await charactersOf(characterTable(4, table))).toEqual([[1, 0xfffe]]);
  });
});

describe("a file that is no font", () => {
  it("has no fonts", async () => {
    expect(fontFaces(new Uint8Array())).toEqual([]);
    expect(fontFaces(Buffer.from("ttcf"))).toEqual([]);
    expect(fontFaces(Buffer.from("%PDF-1.7, which is longer than the header of a font"))).toEqual([]);
    expect(fontFaces(await readFile(import.meta.filename))).toEqual([]);
  });

  it("never throws, however a font is damaged", async () => {
    const regular = await liberation("Regular");
    const { length } = regular;
    const tables = [...tablesOf(regular)].map(([, table]) => table.byteOffset - regular.byteOffset);
    const place = fc.oneof(
      fc.nat(400),
      fc.constantFrom(...tables).chain((at) => fc.nat(64).map((offset) => at + offset)),
    );
    const damages = fc.array(fc.tuple(place, fc.nat(255)), { maxLength: 20 });
    fc.assert(
      fc.property(damages, fc.nat(length), (changes, end) => {
        const damaged = Buffer.from(regular);
        for (const [at, value] of changes) damaged[at] = value;
        expect(fontFaces(damaged.subarray(0, end)).length).toBeLessThanOrEqual(64);
      }),
      { numRuns: 200 },
    );
  });
});
