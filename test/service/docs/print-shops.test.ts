/** What docs/labels-and-print.md says of inks: Ghostscript separates a document, and its plates are looked at. */
import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { typstPdf } from "../../support/backend/typst-pdf.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const hasGhostscript = spawnSync("gs", ["--version"]).status === 0;
const page = await readFile(new URL("../../../docs/labels-and-print.md", import.meta.url), "utf8");
const [, flyer = ""] = /\n## Print shops\n.*?```typst\n(.*?)```/s.exec(page) ?? [];
const SPOT = '#let brand = color.spot("Brand", cmyk(0%, 93%, 76%, 0%))\n#rect(fill: brand.tint(15%), stroke: none)';

const BLANK = "#set page(width: 105mm, height: 148mm, margin: 12mm, bleed: 3mm)\n";

/** The names of the plates of one page that are not blank, in the order of the alphabet. */
async function inkedPlates(source: string, ...options: string[]): Promise<string[]> {
  const folder = await makeTemporaryFolder("plates-");
  const separate = async (input: Buffer, name: string) => {
    const output = join(folder, `${name}.tif`);
    await execa("gs", ["-q", "-r36", "-sDEVICE=tiffsep", ...options, "-o", output, "-"], { input });
    const plates = (await readdir(folder)).filter((file) => file.startsWith(`${name}(`)).sort();
    // Ghostscript writes the second into each file.
    const read = async (file: string) =>
      (await readFile(join(folder, file), "latin1")).replace(/\d{4}(?::\d\d){2} [\d:]{8}/, "");
    return Promise.all(plates.map(async (file) => [file.slice(2, -5), await read(file)] as const));
  };
  const blank = await separate(
    await typstPdf(`${BLANK}${source.endsWith(SPOT) ? SPOT.replace("15%", "0%") : ""}`, []),
    "a",
  );
  const found = await separate(await typstPdf(source, []), "b");
  return found.filter(([, bytes]) => !blank.some(([, empty]) => empty === bytes)).map(([ink]) => ink);
}

const PLAIN = "#set page(width: 105mm, height: 148mm, bleed: 3mm)\nTerms";

it.skipIf(!hasGhostscript).each<[string, string, string[], string[]]>([
  ["of the guide's flyer is black alone", flyer, [], ["Black"]],
  ["of a spot colour has its own plate, with black", flyer + SPOT, [], ["Black", "Brand"]],
  ["of Typst's own black is four", PLAIN, [], ["Black", "Cyan", "Magenta", "Yellow"]],
  ["of Typst's own black is one with -dBlackText", PLAIN, ["-dBlackText", "-dBlackVector"], ["Black"]],
])(`the ink %s${hasGhostscript ? "" : " [skipped: no gs]"}`, async (_what, source, options, inks) => {
  expect(await inkedPlates(source, ...options)).toEqual(inks);
});
