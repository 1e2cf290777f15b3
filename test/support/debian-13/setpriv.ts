/**
 * A setpriv with Landlock for the tests: the machine's own if it is of util-linux 2.41 or newer, otherwise that of
 * Debian 13, unpacked into the user's cache. This needs no privileges and does not change the machine.
 */
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { findOnPath } from "../../../typst/programs.mjs";
import { downloadWithDependencies, ensureFolder } from "./archive.ts";

/** The packages, among the dependencies of util-linux, whose files setpriv loads. */
const NEEDED_PACKAGES = /^(?:util-linux|libc6|libcap-ng0)_/;

const cachedFolder = () => join(cacheFolder(), "debian-13-setpriv");
const cachedPath = () => join(cachedFolder(), "setpriv");

/** The path of a setpriv with Landlock, or null if there is none on this machine. */
export async function locateSetpriv(): Promise<string | null> {
  const setting = process.env.SERVICE_SETPRIV_BIN;
  const candidates = setting ? [setting] : [...findOnPath("setpriv"), cachedPath()];
  for (const candidate of candidates) if (await knowsLandlock(candidate)) return candidate;
  return null;
}

/** The same, but downloaded if there is none. */
export async function ensureSetpriv(): Promise<string> {
  const located = await locateSetpriv();
  if (located !== null) return located;
  // It must also run on this machine.
  await rm(cachedFolder(), { recursive: true, force: true });
  await ensureFolder(cachedFolder(), unpackSetpriv);
  if (await knowsLandlock(cachedPath())) return cachedPath();
  throw new Error(`${cachedPath()} does not run on this machine`);
}

async function knowsLandlock(program: string): Promise<boolean> {
  const { stdout } = await execa(program, ["--help"], { reject: false, stdin: "ignore" });
  return stdout?.includes("--landlock-access") === true;
}

async function unpackSetpriv(target: string, scratch: string): Promise<void> {
  const root = join(target, "root");
  await mkdir(root);
  for (const file of await downloadWithDependencies(scratch, ["util-linux"])) {
    if (NEEDED_PACKAGES.test(file.slice(file.lastIndexOf("/") + 1))) await execa("dpkg-deb", ["--extract", file, root]);
  }
  // With the loader and libraries of Debian 13, because older ones lack symbols that it needs.
  const script = `#!/bin/sh
root=\${0%/*}/root
for loader in "$root"/usr/lib/*/ld-linux-*.so.*; do
  exec "$loader" --library-path "\${loader%/*}" "$root/usr/bin/setpriv" "$@"
done
`;
  await writeFile(join(target, "setpriv"), script);
  await chmod(join(target, "setpriv"), 0o755);
}
