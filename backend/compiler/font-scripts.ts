/** The scripts that the fonts of every render cover: Typst's own, and those in the operator's folders. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type FontFace, fontFaces } from "../../typst/fonts/font-file.ts";
import { isFont } from "../../typst/fonts/font-names.ts";
import { SCRIPTS, SCRIPTS_OF_TYPST, type Script, scriptsOfFonts } from "../../typst/fonts/scripts.ts";

type Face = Pick<FontFace, "isForText" | "characters">;

/** In the order of their codes. Typst, too, passes over what it cannot read. */
export async function findScripts(fontPaths: readonly string[]): Promise<Script[]> {
  const faces: Face[] = [];
  for (const folder of fontPaths) {
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    for (const name of names.filter(isFont)) {
      const file = await readFile(join(folder, name)).catch(() => null);
      if (file === null) continue;
      // One by one, and without their bytes: a collection has tens of megabytes.
      for (const { isForText, characters } of fontFaces(file)) faces.push({ isForText, characters });
    }
  }
  const covered = new Set<Script>([...SCRIPTS_OF_TYPST, ...scriptsOfFonts(faces)]);
  return SCRIPTS.filter((script) => covered.has(script));
}
