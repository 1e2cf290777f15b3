/** The licences of packages whose files are in a bundle. They require that they are passed on. */
import { readdir, readFile } from "node:fs/promises";

const PROJECT = new URL("../../", import.meta.url);

/** @param inputs the paths of all files that were bundled, from the root of the project. */
export async function licencesOfPackages(inputs: readonly string[]): Promise<string> {
  const folders = new Set(inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const ofPackages = await Promise.all(
    [...folders].sort().map(async (path) => {
      const folder = new URL(`${path}/`, PROJECT);
      const { name, version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
      // A package that has others in it has a file for each.
      const files = (await readdir(folder)).filter((entry) => /^(licen[cs]e|notice)/i.test(entry)).sort();
      const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), "utf8")));
      if (files.length === 0 && license === undefined) throw new Error(`${name} has no licence`);
      return [`${name} ${version}`, ...(files.length === 0 ? [license] : texts)]
        .map((text) => `${text.trim()}\n`)
        .join("\n");
    }),
  );
  return ofPackages.join(`\n${"-".repeat(80)}\n\n`);
}
