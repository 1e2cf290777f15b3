/**
 * The clients as each deployment serves them below `/clients`: the packages for npm, the wheel for pip, and their
 * checksums. They are those of the deployment, so whoever calls it needs no checkout.
 */
import { hash } from "node:crypto";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CLIENT_FILES, CLIENTS_PATH } from "../../protocol/routes.ts";
import { sha256 } from "../pinned/content-digest.ts";
import { npmPackage } from "./npm-package.ts";
import { pythonWheel } from "./python-wheel.ts";
import { provideStaticFile } from "./static-file.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TARGET = join(ROOT, "edge/static", CLIENTS_PATH);
/** What the packages are made of. */
const SOURCES = [
  ...["clients", "rules", "protocol", "typst", "docs/client.md", "docs/command-line.md"],
  ...["scripts/assets", "scripts/build-package.ts", "LICENSE", "package-lock.json"],
];
/** Of the sources of the packages that are there: to build them takes seconds, which not every start should. */
const BUILT_FROM = join(TARGET, ".built-from");

export async function provideClientPackages(): Promise<void> {
  const sources = await digestOf(SOURCES);
  const names = Object.values(CLIENT_FILES);
  const built = await readFile(BUILT_FROM, "utf8").catch(() => "");
  const present: readonly string[] = await readdir(TARGET).catch(() => []);
  if (built === sources && names.every((name) => present.includes(name))) return;
  // Those of an earlier version have other names.
  const earlier = present.filter((name) => /\.(?:tgz|whl)$/.test(name) && !names.some((known) => known === name));
  for (const name of earlier) await rm(join(TARGET, name), { force: true });
  const [client, cli, wheel] = await Promise.all([npmPackage("client"), npmPackage("cli"), pythonWheel()]);
  const files = [
    [CLIENT_FILES.client, client.content],
    [CLIENT_FILES.cli, cli.content],
    [CLIENT_FILES.wheel, wheel],
  ] as const;
  const sums = files.map(([name, content]) => `${sha256(content)}  ${name}\n`).join("");
  for (const [name, content] of [...files, [CLIENT_FILES.sums, Buffer.from(sums)] as const]) {
    await provideStaticFile(`${CLIENTS_PATH.slice(1)}/${name}`, content);
  }
  await writeFile(BUILT_FROM, sources);
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const texts: string[] = [process.version];
  for (const path of paths) {
    const names = (await stat(join(ROOT, path))).isFile() ? [""] : await filesBelow(join(ROOT, path));
    for (const name of names) texts.push(join(path, name), hash("sha256", await readFile(join(ROOT, path, name))));
  }
  return hash("sha256", texts.join("\n"));
}

/** In an order that does not depend on the file system. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !/node_modules|__pycache__/.test(entry.parentPath.slice(folder.length)))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
