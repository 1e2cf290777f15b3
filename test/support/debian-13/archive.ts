/**
 * Downloads packages of Debian 13 with the machine's apt, without changing the machine: apt's state, cache and sources
 * are in our own folder, so this needs no privileges. apt checks every package against Debian's signature.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";

const SUITE = "trixie";
/** From the package debian-archive-keyring; that of Debian 12.8 and newer has the keys of Debian 13. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const DOWNLOAD_TIMEOUT_MILLISECONDS = 120_000;

/**
 * Downloads packages with all their dependencies.
 *
 * @param folder an empty folder for apt's state.
 * @param packages names, or patterns of apt.
 * @returns the paths of the package files.
 * @throws if the machine has no apt for Debian, or the archive cannot be reached.
 */
export async function downloadWithDependencies(folder: string, packages: readonly string[]): Promise<string[]> {
  const options = await aptOptions(folder);
  await aptGet([...options, "--download-only", "--yes", "--no-install-recommends", "install", ...packages]);
  const archives = join(folder, "cache", "archives");
  const names = (await readdir(archives)).filter((name) => name.endsWith(".deb"));
  return names.map((name) => join(archives, name));
}

/** The mirror that this machine uses for Debian. */
export async function debianMirror(): Promise<string> {
  const { stdout } = await aptGet(["indextargets", "--format", "$(REPO_URI)"]);
  const mirror = stdout.split("\n").find((uri) => /\/debian\/?$/.test(uri));
  if (mirror === undefined) throw new Error("apt of this machine knows no mirror of Debian");
  return mirror;
}

/**
 * Creates a folder of the cache if it is missing, completely or not at all.
 *
 * @param make fills the folder. It may use the second folder for temporary files.
 */
export async function ensureFolder(
  target: string,
  make: (target: string, scratch: string) => Promise<void>,
): Promise<void> {
  if (existsSync(target)) return;
  await mkdir(dirname(target), { recursive: true });
  const scratch = await mkdtemp(`${target}.work-`);
  try {
    const made = join(scratch, "made");
    const rest = join(scratch, "rest");
    for (const folder of [made, rest]) await mkdir(folder);
    await make(made, rest);
    await rename(made, target).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function aptOptions(folder: string): Promise<string[]> {
  const place = (name: string) => join(folder, name);
  for (const name of ["state/lists/partial", "cache/archives/partial"]) await mkdir(place(name), { recursive: true });
  await writeFile(place("sources.list"), `deb [signed-by=${KEYRING}] ${await debianMirror()} ${SUITE} main\n`);
  await writeFile(place("status"), "");
  const settings = {
    "Dir::State": place("state"),
    "Dir::State::status": place("status"),
    "Dir::Cache": place("cache"),
    "Dir::Etc::SourceList": place("sources.list"),
    "Dir::Etc::SourceParts": "/dev/null",
    "Dir::Etc::Preferences": "/dev/null",
    "Dir::Etc::PreferencesParts": "/dev/null",
    "Acquire::Languages": "none",
    // apt's own user cannot read a folder in a user's cache.
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  await aptGet([...options, "update"]);
  return options;
}

function aptGet(options: readonly string[]) {
  return execa("apt-get", ["--quiet=2", ...options], {
    stdin: "ignore",
    env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
    timeout: DOWNLOAD_TIMEOUT_MILLISECONDS,
  });
}
