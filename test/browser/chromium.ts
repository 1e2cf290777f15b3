/**
 * A Chromium for the browser tests: `SERVICE_CHROMIUM`, a program on `PATH`, or Debian's
 * package, which is fetched into the user's cache with its dependencies. The machine is not changed, and no privileges
 * are needed.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { type Browser, chromium } from "playwright-core";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import { findOnPath, isExecutableFile } from "../../typst/programs.mjs";
import { downloadWithDependencies, ensureFolder } from "../support/debian-13/archive.ts";

export interface RunningBrowser {
  readonly browser: Browser;
  stop(): Promise<void>;
}

const PROGRAM_NAMES = ["chromium", "chromium-browser", "google-chrome"] as const;

/**
 * Runs the fetched Chromium in its own root, because it needs the libraries of its own Debian. The temporary folder is
 * where playwright puts the profile; file descriptors, by which it talks to the browser, are passed on.
 */
const LAUNCHER = `#!/bin/sh
folder=$(dirname "$0")
# An older version of the tests names it TMPDIR.
shared=\${SERVICE_TEMPORARY_FOLDER:-$TMPDIR}
exec "$SERVICE_BUBBLEWRAP_BIN" --die-with-parent --bind "$folder/root" / --dev /dev --proc /proc --bind /tmp /tmp \\
  --bind "$shared" "$shared" /usr/lib/chromium/chromium "$@"
`;

/** Starts a Chromium with a home folder of its own, which is removed with it. */
export async function launchChromium(executablePath: string, bubblewrapPath: string): Promise<RunningBrowser> {
  const home = await mkdtemp(join(tmpdir(), "browser-home-"));
  const browser = await chromium.launch({
    executablePath,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      // Its processes leave files of shared memory behind if they are ended at the wrong moment.
      TMPDIR: home,
      // For the launcher of a fetched Chromium.
      SERVICE_TEMPORARY_FOLDER: tmpdir(),
      SERVICE_BUBBLEWRAP_BIN: bubblewrapPath,
    },
  });
  return {
    browser,
    stop: async () => {
      await browser.close();
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** The path of a Chromium, or of a script that starts one. */
export async function locateChromium(): Promise<string> {
  const configured = process.env.SERVICE_CHROMIUM;
  if (configured) {
    if (isExecutableFile(configured)) return configured;
    throw new Error(`SERVICE_CHROMIUM must name an executable file, not ${configured}`);
  }
  const [found] = PROGRAM_NAMES.flatMap((name) => findOnPath(name));
  if (found !== undefined) return found;
  const target = join(cacheFolder(), "debian-13-chromium");
  await ensureFolder(target, fetchChromium).catch((cause: unknown) => {
    const advice = "install it (Debian: apt-get install chromium) or set SERVICE_CHROMIUM";
    throw new Error(`There is no Chromium, and none can be fetched: ${advice}.`, { cause });
  });
  const launcher = join(target, "chromium");
  // The launcher in the cache may be that of an older version.
  if ((await readFile(launcher, "utf8").catch(() => null)) !== LAUNCHER)
    await writeFile(launcher, LAUNCHER, { mode: 0o755 });
  return launcher;
}

/** About 210 packages: 207 MB to download, 770 MB in the cache. */
async function fetchChromium(made: string, rest: string): Promise<void> {
  const root = join(made, "root");
  await mkdir(root);
  for (const archive of await downloadWithDependencies(rest, ["chromium"])) {
    await execa("dpkg-deb", ["--extract", archive, root], { stdin: "ignore" });
  }
}
