/** What is read from font files, compared with what Typst says about the same files, and from files that are none. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fontFaces } from "../../../rules/fonts/font-file.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { collectionOf, LIBERATION_FAMILY, liberation, nameTable, tablesOf, withTables } from "../../support/fonts.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

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
