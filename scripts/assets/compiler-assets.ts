/** The playground's compiler: its WebAssembly, and the fonts of Typst that a document uses if it names none. */
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { constants, gunzip, gzip } from "node:zlib";
import { locateTypst } from "../../typst/program-location.mjs";
import { readEmbeddedFonts } from "./embedded-fonts.ts";
import { provideStaticFile } from "./static-file.ts";

export const COMPILER = new URL(
  "../../node_modules/@myriaddreamin/typst-ts-web-compiler/pkg/typst_ts_web_compiler_bg.wasm",
  import.meta.url,
);
const TARGET = new URL("../../edge/static/playground/typst-compiler.bin", import.meta.url);
/** Text, formulas and code, each in one style: for the others, Typst takes what there is. */
export const COMPILER_FONTS = [
  { postScriptName: "LibertinusSerif-Regular", file: "libertinus-serif.otf" },
  { postScriptName: "NewCMMath-Regular", file: "new-computer-modern-math.otf" },
  { postScriptName: "DejaVuSansMono", file: "dejavu-sans-mono.ttf" },
];

/** @returns the fonts that are served, by their files */
export async function provideCompiler(): Promise<ReadonlyMap<string, Buffer>> {
  const [fonts] = await Promise.all([provideFonts(), provideWebAssembly()]);
  return fonts;
}

/** Compressed, because Cloudflare serves no file above 25 MiB. */
async function provideWebAssembly(): Promise<void> {
  const module = await readFile(COMPILER);
  // To compress it takes seconds, to read it again a tenth of one.
  const present = await readFile(TARGET).then(promisify(gunzip), () => null);
  if (present?.equals(module)) return;
  const level = constants.Z_BEST_COMPRESSION;
  await provideStaticFile("playground/typst-compiler.bin", await promisify(gzip)(module, { level }));
}

async function provideFonts(): Promise<ReadonlyMap<string, Buffer>> {
  const typst = await locateTypst();
  const provided = new Map<string, Buffer>();
  // Where Cloudflare builds the Worker, for example. The compiler then goes as far as the first formula.
  if ("error" in typst) {
    for (const { file } of COMPILER_FONTS) {
      const present = await readFile(new URL(file, TARGET)).catch(() => null);
      if (present !== null) provided.set(file, present);
    }
    if (provided.size < COMPILER_FONTS.length) {
      process.stderr.write(`The playground's compiler is built without fonts. ${typst.error}\n`);
    }
    return provided;
  }
  const fonts = await readEmbeddedFonts(typst.path);
  for (const { postScriptName, file } of COMPILER_FONTS) {
    const font = fonts.get(postScriptName);
    if (font === undefined) throw new Error(`this Typst has no font ${postScriptName} in it: use an official build`);
    await provideStaticFile(`playground/${file}`, font);
    provided.set(file, font);
  }
  return provided;
}
