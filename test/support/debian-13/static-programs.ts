/**
 * Programs for the tests that Debian has linked statically, so they run anywhere: a busybox for the tests of Alpine's
 * shell, and the init of the images. The machine's own, otherwise those of Debian 13, unpacked into the user's cache.
 * This needs no privileges and does not change the machine.
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { findOnPath } from "../../../typst/programs.mjs";
import { downloadWithDependencies, ensureFolder } from "./archive.ts";

/** The name of each program, its package, and its file in there. */
const PROGRAMS = [
  ["busybox", "busybox-static", "usr/bin/busybox"],
  ["tini", "tini", "usr/bin/tini-static"],
] as const;

/** The folders of the programs in the cache. */
export const STATIC_PROGRAM_FOLDERS = PROGRAMS.map(([name]) => `debian-13-${name}`);

export async function ensureStaticPrograms(): Promise<void> {
  for (const [name, archive, path] of PROGRAMS) {
    if (findOnPath(name).length > 0) continue;
    await ensureFolder(join(cacheFolder(), `debian-13-${name}`), async (target, scratch) => {
      const root = join(scratch, "root");
      for (const file of await downloadWithDependencies(scratch, [archive])) {
        await execa("dpkg-deb", ["--extract", file, root]);
      }
      await cp(join(root, path), join(target, name));
    });
  }
}
