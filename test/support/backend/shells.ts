/** The shells that some distribution has as its `sh`. */
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { findOnPath } from "../../../typst/programs.mjs";
import { makeTemporaryFolder } from "../temporary-folder.ts";

export type TestShell = (typeof SHELLS)[number];

/** The path is null if this machine lacks it: then the title says that its tests are skipped. */
export const SHELLS = ["dash", "bash", "busybox"].map((name) => {
  const [path = null] = findOnPath(name);
  return { name, path, title: path === null ? `${name} (skipped: it is not installed)` : name };
});

/**
 * @returns a path by which this shell is called `sh`. The dialect of bash and the applet of busybox depend on the name.
 */
export async function linkAsSh({ name, path }: TestShell): Promise<string> {
  if (path === null) throw new Error(`${name} is not installed`);
  const link = join(await makeTemporaryFolder("shell-test-"), "sh");
  await symlink(path, link);
  return link;
}
