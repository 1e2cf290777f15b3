/**
 * A busybox for the tests of Alpine's shell: the machine's own, otherwise that of Debian 13, unpacked into the user's cache. It is
 * linked statically, so it runs anywhere. This needs no privileges and does not change the machine.
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { cacheFolder } from "../../machine/cache-folder.mjs";
import { findOnPath } from "../../machine/programs.mjs";
import { downloadWithDependencies, ensureFolder } from "./archive.ts";

/** The name of the folder in the cache that contains `busybox`. */
export const BUSYBOX_FOLDER = "debian-13-busybox";

export async function ensureBusybox(): Promise<void> {
  if (findOnPath("busybox").length > 0) return;
  await ensureFolder(join(cacheFolder(), BUSYBOX_FOLDER), async (target, scratch) => {
    const root = join(scratch, "root");
    for (const file of await downloadWithDependencies(scratch, ["busybox-static"])) {
      await execa("dpkg-deb", ["--extract", file, root]);
    }
    await cp(join(root, "usr/bin/busybox"), join(target, "busybox"));
  });
}
