/**
 * The licences of all that a deployment serves or ships and that others made, in one text. It is served at `/licenses` and
 * is in `dist/edge`, and so in each image and release.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { licenceOfFont } from "./embedded-fonts.ts";
import { LINE, licencesOfPackages, readManifest, section } from "./licences.ts";
import { provideStaticFile } from "./static-file.ts";

const PROJECT = new URL("../../", import.meta.url);
/** The packages that are shipped as they are, and bundled by nobody: the viewer of the reference page, and programs. */
const SHIPPED = ["swagger-ui-dist"];
const FONTS_OF_EXAMPLES = "examples/brand-letter/fonts";

/** The folders of what edge and backend need, as Node finds them, and of the program that runs the backend. */
async function productionPackages(): Promise<string[]> {
  const found = new Set<string>();
  const add = async (names: readonly string[], within: string): Promise<void> => {
    for (const name of names) {
      const places = within
        .split("/node_modules/")
        .map((_, index, parts) => parts.slice(0, index + 1).join("/node_modules/"));
      const folder = places
        .toReversed()
        .map((place) => `${place}/node_modules/${name}`.replace("./", ""))
        .find((path) => existsSync(new URL(path, PROJECT)));
      if (folder === undefined) throw new Error(`${name} is not installed: npm ci`);
      if (found.has(folder)) continue;
      found.add(folder);
      await add(Object.keys((await readManifest(folder)).dependencies ?? {}), `./${folder}`);
    }
  };
  const { dependencies = {}, optionalDependencies = {} } = await readManifest(".");
  await add(Object.keys(dependencies), ".");
  const nodes = Object.keys(optionalDependencies).map((name) => `node_modules/${name}`);
  return [...found, ...nodes.filter((folder) => existsSync(new URL(folder, PROJECT)))];
}

/** @param fonts by their files, those of Typst that the playground's compiler has */
export async function provideLicences(
  playground: readonly string[],
  fonts: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const shipped = SHIPPED.map((name) => `node_modules/${name}`);
  const packages = await licencesOfPackages([...playground, ...shipped, ...(await productionPackages())]);
  const ofViewer = await readFile(
    new URL("node_modules/swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt", PROJECT),
    "utf8",
  );
  const ofl = await readFile(new URL(`${FONTS_OF_EXAMPLES}/OFL.txt`, PROJECT), "utf8");
  const text = [
    section(
      "What others made of what this service serves and ships, with its licences. Where there is only the name of a licence, its text follows the packages.",
    ),
    packages,
    section("In swagger-ui-bundle.js", ofViewer),
    section(
      `Typst ${TYPST_VERSION}`,
      "Apache-2.0. Copyright The Typst Project Developers. https://github.com/typst/typst has the notices of what is compiled into it.",
    ),
    ...[...fonts].map(([file, font]) => section(file, licenceOfFont(font))),
    section(`The fonts of ${FONTS_OF_EXAMPLES}`, ofl),
  ];
  await provideStaticFile("licenses.txt", Buffer.from(text.join(LINE)));
}
