/** The licences of the packages of which files are in a bundle, which ask to be passed on. */
import { readdir, readFile } from "node:fs/promises";

const PROJECT = new URL("../", import.meta.url);

/** @param inputs the paths of all files that were bundled, from the root of the project. */
export async function licencesOfPackages(inputs: readonly string[]): Promise<string> {
  const folders = new Set(inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []));
  const texts = await Promise.all(
    [...folders].sort().map(async (path) => {
      const folder = new URL(`${path}/`, PROJECT);
      const { name, version, license } = JSON.parse(await readFile(new URL("package.json", folder), "utf8"));
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? license : await readFile(new URL(file, folder), "utf8");
      if (text === undefined) throw new Error(`${name} has no licence`);
      return `${name} ${version}\n\n${text.trim()}\n`;
    }),
  );
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}
