/** The type declarations of a package: of all that `tsc` writes, those that its users can reach. */
import { execFileSync } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Writes the types of a folder's `tsconfig.build.json` to `types/` of a package, without what no entry point imports. */
export async function writeReachableTypes(folder: URL, target: URL, entryPoints: readonly string[]): Promise<void> {
  const types = new URL("types/", target);
  const project = `${fileURLToPath(folder)}/tsconfig.build.json`;
  execFileSync("tsc", ["-p", project, "--outDir", fileURLToPath(types)], { stdio: "inherit" });
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
