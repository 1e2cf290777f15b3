/** The type declarations of a package: of all that `tsc` writes, those that its users can reach. */
import { readdir, readFile, rm } from "node:fs/promises";

/** Removes the type declarations that no entry point imports: `tsc` writes one for each file that it has read. */
export async function removeUnreachableTypes(types: URL, entryPoints: readonly string[]): Promise<void> {
  const reachable = new Set(entryPoints.map((path) => new URL(path, types).href));
  for (const href of reachable) {
    const text = await readFile(new URL(href), "utf8");
    for (const [, path = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.ts"/g)) {
      reachable.add(new URL(`${path}.d.ts`, href).href);
    }
  }
  for (const path of await readdir(types, { recursive: true })) {
    const file = new URL(path, types);
    if (path.endsWith(".d.ts") && !reachable.has(file.href)) await rm(file);
  }
}
