/** A package of the clients as `npm pack` makes it: the same bytes wherever a version is built, for deployments and registries alike. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface NpmPackage {
  /** With its version. */
  readonly name: string;
  readonly content: Buffer;
}

export async function npmPackage(part: "client" | "cli" | "e-invoice"): Promise<NpmPackage> {
  const folder = await mkdtemp(join(tmpdir(), `clients-${part}-`));
  try {
    const built = join(folder, part);
    await execa(process.execPath, ["scripts/build-package.ts", part, built], { cwd: ROOT });
    await execa("npm", ["pack", built, "--pack-destination", folder, "--ignore-scripts"], {
      cwd: ROOT,
      stdin: "ignore",
    });
    const name = (await readdir(folder)).find((entry) => entry.endsWith(".tgz"));
    if (name === undefined) throw new Error(`npm has packed nothing of ${part}`);
    return { name, content: await readFile(join(folder, name)) };
  } finally {
    await rm(folder, { recursive: true });
  }
}
