/** What is read from font files, compared with what Typst says about the same files, and from files that are none. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFontList } from "../../../backend/compiler/capabilities.ts";
import { fontFaces, readFonts } from "../../../typst/fonts/font-file.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import {
  axisTable,
  collectionOf,
  fontOf,
  LIBERATION_FAMILY,
  liberation,
  nameTable,
  tablesOf,
  withStyle,
  withTables,
} from "../../support/fonts.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

/** What Typst says of fonts. */
async function listFonts(fonts: readonly Buffer[]): Promise<string> {
  const folder = await makeTemporaryFolder("font-file-test-");
  for (const [index, font] of fonts.entries()) await writeFile(join(folder, `${index}.ttf`), font);
  const options = ["--variants", "--ignore-system-fonts", "--ignore-embedded-fonts", "--font-path", folder];
  return (await execa(typstPath(), ["fonts", ...options])).stdout;
}

const fontFamilies = (file: Uint8Array) => fontFaces(file).map(({ family }) => family);

describe("the family", () => {
  it("is the one that Typst lists", async () => {
    const names = ["Inter", "Cantarell Semi Bold Italic", "Footlight MT Light", "Font Ultra Bold", "Other Ultra"];
    names.push("Noto Sans Mono Cond SemBd", "Noto Serif SEMCOND SemBd", "Familx", "Normandy Normal", ".Hidden Light");
    names.push("Ubuntu-Medium", "Größe Schrift", "源ノ角ゴシック Bold");
    const regular = await liberation("Regular");
    const fonts = names.map((name) => withTables(regular, { name: nameTable(name) }));
    const folder = await makeTemporaryFolder("font-file-test-");
    for (const [index, font] of fonts.entries()) await writeFile(join(folder, `${index}.ttf`), font);
    const options = ["--ignore-system-fonts", "--ignore-embedded-fonts", "--font-path", folder];
    const { stdout } = await execa(typstPath(), ["fonts", ...options]);
    expect(fonts.flatMap(fontFamilies).toSorted()).toEqual(stdout.split("\n").toSorted());
    expect(stdout.split("\n")).toHaveLength(names.length);
  });

  it("of each font of a collection is known", async () => {
    const other = withTables(await liberation("Bold"), { name: nameTable("Other") });
    expect(fontFamilies(collectionOf([await liberation("Regular"), other]))).toEqual([LIBERATION_FAMILY, "Other"]);
  });

  it("is unknown without a table of names, or with a name of an absurd length", async () => {
    const regular = await liberation("Regular");
    expect(fontFamilies(withTables(regular, { name: Buffer.alloc(6) }))).toEqual([]);
    expect(fontFamilies(withTables(regular, { name: nameTable("x".repeat(512)) }))).toEqual(["x".repeat(512)]);
    expect(fontFamilies(withTables(regular, { name: nameTable("x".repeat(513)) }))).toEqual([]);
  });
});

it("the styles, weights and widths are those that Typst lists", async () => {
  const regular = await liberation("Regular");
  const italicBit = 1;
  const obliqueBit = 0x200;
  const fonts = [
    withStyle(regular, { weight: 350, width: 3 }),
    withStyle(regular, { weight: 1000, width: 9 }),
    withStyle(regular, { width: 0 }),
    withStyle(regular, { selection: italicBit }),
    withStyle(regular, { selection: obliqueBit }),
    withTables(regular, { name: nameTable("x", { 4: "Full Slanted" }) }),
    withTables(regular, { name: nameTable("x", { 4: "Full Italic" }) }),
    withTables(regular, { "OS/2": Buffer.alloc(4) }),
    withTables(regular, { fvar: axisTable({ wght: [1, 400, 1000], wdth: [75, 100, 100] }) }),
    withTables(regular, { fvar: axisTable({ slnt: [-10, 0, 0] }) }),
    withTables(regular, { fvar: axisTable({ ital: [0, 0, 1], opsz: [8, 12, 72] }) }),
    withTables(regular, { fvar: axisTable({}) }),
    await liberation("Bold"),
  ].map((font, index) => withTables(font, index === 5 || index === 6 ? {} : { name: nameTable(`Font ${index}`) }));
  const named = [...fonts.slice(0, 5), ...fonts.slice(7)];
  const byFamily = Object.fromEntries(
    parseFontList(await listFonts(named)).map((font) => [font.family, font.variants]),
  );
  const own = named.map((font) => fontFaces(font)[0]);
  expect(Object.keys(byFamily)).toHaveLength(named.length);
  for (const face of own) {
    const listed = byFamily[face?.family ?? ""] ?? [];
    expect(face?.variants, face?.family).toEqual(expect.arrayContaining(listed));
    expect(face?.variants).toHaveLength(listed.length);
  }
  const [slanted, italic] = [fonts[5], fonts[6]].map(
    (font) => fontFaces(font ?? Buffer.alloc(0))[0]?.variants[0]?.style,
  );
  expect([slanted, italic]).toEqual(["oblique", "italic"]);
  expect(await listFonts(fonts.slice(5, 7))).toMatch(/Oblique[\s\S]*Italic|Italic[\s\S]*Oblique/);
});

it.each([
  ["no PostScript name", { name: nameTable("Other", { 6: null }) }],
  ["no family", { name: nameTable("Other", { 1: null }) }],
  ["no tables", { name: undefined }],
  ["no tables", { hhea: undefined }],
  ["cut off", "half"],
] as const)("a font that Typst does not see has a reason: %s (%#)", async (obstacle, change) => {
  const regular = await liberation("Regular");
  const without = change === "half" ? [] : Object.entries(change).filter(([, table]) => table === undefined);
  const kept = new Map([...tablesOf(regular)].filter(([tag]) => !without.some(([gone]) => gone === tag)));
  const font =
    change === "half"
      ? regular.subarray(0, regular.length / 2)
      : fontOf(
          new Map([
            ...kept,
            ...Object.entries(change).flatMap(([tag, table]) => (table ? [[tag, table] as const] : [])),
          ]),
        );
  expect(readFonts(font)).toEqual([expect.objectContaining({ face: null, obstacle })]);
  expect(await listFonts([font])).toBe("");
});

describe("a file that is no font", () => {
  it("has no fonts", async () => {
    expect(fontFamilies(new Uint8Array())).toEqual([]);
    expect(fontFamilies(Buffer.from("ttcf"))).toEqual([]);
    expect(fontFamilies(Buffer.from("%PDF-1.7, which is longer than the header of a font"))).toEqual([]);
    expect(fontFamilies(await readFile(import.meta.filename))).toEqual([]);
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
        expect(fontFamilies(damaged.subarray(0, end)).length).toBeLessThanOrEqual(64);
      }),
      { numRuns: 200 },
    );
  });
});
