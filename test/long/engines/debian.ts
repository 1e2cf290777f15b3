/** Debian made by mmdebstrap, from the mirror that this machine uses. */
import { execa } from "execa";
import { debianMirror } from "../../support/debian-13/archive.ts";

/**
 * @param target an archive, if its name ends with `.tar`, or a folder.
 * @param packages besides those that are essential, and apt.
 */
export async function makeDebian(target: string, suite: string, packages: readonly string[]): Promise<void> {
  const without = ["doc", "man", "locale"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const include = packages.length > 0 ? [`--include=${packages.join(",")}`] : [];
  const options = ["--quiet", "--variant=minbase", ...without, ...include, suite, target, await debianMirror()];
  await execa("mmdebstrap", options, { stdin: "ignore" });
}
