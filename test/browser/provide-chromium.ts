/**
 * Finds a Chromium once, and provides its path to the tests: `SERVICE_CHROMIUM`, a program on `PATH`, or Debian's package,
 * which is fetched into the user's cache with all that it needs. The machine stays as it is, and no rights are needed.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { TestProject } from "vitest/node";
import { cacheFolder } from "../../backend/cache-folder.mjs";
import { findOnPath, isExecutableFile } from "../../backend/programs.mjs";
import { downloadWithDependencies, ensureFolder } from "../debian-13/archive.ts";

declare module "vitest" {
  interface ProvidedContext {
    chromiumPath: string;
  }
}

const PROGRAM_NAMES = ["chromium", "chromium-browser", "google-chrome"] as const;

/**
 * Runs the fetched Chromium in a root of its own, because it needs the libraries of its own Debian. `TMPDIR` is where
 * playwright puts the profile; file descriptors, by which it talks to the browser, are passed on.
 */
const LAUNCHER = `#!/bin/sh
folder=$(dirname "$0")
exec "$SERVICE_BUBBLEWRAP_BIN" --die-with-parent --bind "$folder/root" / --dev /dev --proc /proc --bind /tmp /tmp \\
  --bind "$TMPDIR" "$TMPDIR" /usr/lib/chromium/chromium "$@"
`;

export default async function provideChromium(project: TestProject): Promise<void> {
  project.provide("chromiumPath", await locateChromium());
}

async function locateChromium(): Promise<string> {
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
    throw new Error(`The browser tests need Chromium, and it cannot be fetched: ${advice}.`, { cause });
  });
  return join(target, "chromium");
}

/** Some 210 packages: 207 MB to download, 770 MB in the cache. */
async function fetchChromium(made: string, rest: string): Promise<void> {
  const root = join(made, "root");
  await mkdir(root);
  for (const archive of await downloadWithDependencies(rest, ["chromium"])) {
    await execa("dpkg-deb", ["--extract", archive, root], { stdin: "ignore" });
  }
  await writeFile(join(made, "chromium"), LAUNCHER, { mode: 0o755 });
}
