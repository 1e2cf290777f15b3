/** The characters of a font by its table, compared with what Typst shows in that font, and tables that are damaged. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { readDocumentFonts } from "../../../clients/document/fonts/document-fonts.ts";
import { type CharacterRanges, hasCharacter } from "../../../typst/fonts/characters.ts";
import { fontFaces } from "../../../typst/fonts/font-file.ts";
import { typstPdf } from "../../support/backend/typst-pdf.ts";
import {
  LIBERATION_FAMILY,
  LIBERATION_FOLDER,
  liberation,
  nameTable,
  otherCharacterTable,
  tablesOf,
  withTables,
} from "../../support/fonts.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

async function charactersOfLiberation(): Promise<CharacterRanges> {
  const [face] = fontFaces(await liberation("Regular"));
  if (face === undefined) throw new Error("it is a font");
  return face.characters;
}

it("a font has the characters that Typst shows in it, and no others", async () => {
  const ranges = await charactersOfLiberation();
  const letters = Array.from({ length: 0x3000 - 0x21 }, (_, index) => String.fromCodePoint(0x21 + index));
  const asked = letters.filter((letter) => /[\p{L}\p{N}\p{Sc}]/u.test(letter));
  const text = asked.map((letter) => `#"${letter}"`).join("\n");
  const options = ["--ignore-embedded-fonts", "--font-path", LIBERATION_FOLDER];
  const pdf = await typstPdf(`#set text(font: "${LIBERATION_FAMILY}", fallback: false)\n${text}`, [], options);
  const shown = new Set(readDocumentFonts(pdf)?.fonts.flatMap(({ characters }) => [...characters]));
  const known = asked.filter((letter) => hasCharacter(ranges, letter.codePointAt(0) ?? 0));
  expect(known.length).toBeGreaterThan(400);
  // A letter may be shown as its base and a mark.
  expect(
    known.filter((letter) => ![...letter.normalize("NFD")].every((part) => shown.has(part) || shown.has(letter))),
  ).toEqual([]);
  expect(asked.filter((letter) => shown.has(letter) && !known.includes(letter))).toEqual([]);
});

it.each([
  [
    "0",
    0,
    3,
    () => Buffer.concat([words(0, 262, 0), Buffer.alloc(65), Buffer.from([9, 9]), Buffer.alloc(189)]),
    [[65, 66]],
  ],
  ["6", 3, 1, () => words(6, 16, 0, 0x5c70, 3, 0, 40, 41), [[0x5c71, 0x5c72]]],
  ["10", 0, 4, () => words(10, 0, 0, 24, 0, 0, 1, 0xf600, 0, 2, 40, 41), [[0x1f600, 0x1f601]]],
  ["13", 3, 10, () => words(13, 0, 0, 28, 0, 0, 0, 1, 0, 0x5c71, 1, 0xf600, 0, 40), [[0x5c71, 0x1f600]]],
] as const)(
  "a table in the format %s is read as Typst reads it",
  async (_format, platform, encoding, subtable, ranges) => {
    const cmap = otherCharacterTable(platform, encoding, subtable());
    const font = withTables(await liberation("Regular"), { name: nameTable("Few"), cmap });
    expect(fontFaces(font)[0]?.characters).toEqual(ranges);
    const folder = await makeTemporaryFolder("characters-test-");
    await writeFile(join(folder, "few.ttf"), font);
    const [[first, last]] = ranges;
    const show = (code: number) => `#"\\u{${code.toString(16)}}"`;
    const source = `#set text(font: "Few", fallback: false)\n${show(first)}${show(last)}`;
    const options = ["--ignore-embedded-fonts", "--font-path", folder];
    expect(readDocumentFonts(await typstPdf(source, [], options))?.boxes).toBe(0);
  },
);

/** Numbers of two bytes. */
function words(...values: readonly number[]): Buffer {
  const table = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) table.writeUInt16BE(value, 2 * index);
  return table;
}

it("a font is for text unless it has one width or a table for formulas", async () => {
  const regular = await liberation("Regular");
  const isForText = (font: Buffer) => fontFaces(font)[0]?.isForText;
  expect(isForText(regular)).toBe(true);
  expect(isForText(withTables(regular, { MATH: Buffer.alloc(10) }))).toBe(false);
  const post = Buffer.from(tablesOf(regular).get("post") ?? []);
  post.writeUInt32BE(1, 12);
  expect(isForText(withTables(regular, { post }))).toBe(false);
});

it("a range ends where the next begins, and none is counted twice, however the table is damaged", async () => {
  const regular = await liberation("Regular");
  const original = tablesOf(regular).get("cmap") ?? Buffer.alloc(0);
  const places = fc.array(fc.tuple(fc.nat(original.length - 1), fc.nat(255)), { maxLength: 20 });
  fc.assert(
    fc.property(places, fc.nat(original.length), (changes, length) => {
      const cmap = Buffer.from(original.subarray(0, length));
      for (const [at, byte] of changes) if (at < cmap.length) cmap[at] = byte;
      let before = -1;
      for (const [first, last] of fontFaces(withTables(regular, { cmap }))[0]?.characters ?? []) {
        expect(first).toBeGreaterThan(before);
        expect(last).toBeGreaterThanOrEqual(first);
        before = last;
      }
    }),
    { numRuns: 300 },
  );
});
