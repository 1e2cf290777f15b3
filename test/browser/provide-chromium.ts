/**
 * Finds a Chromium once, and provides its path to the tests: `SERVICE_CHROMIUM`, a program on `PATH`, or Debian's package,
 * which is installed where this runs as root.
 */
import { execa } from "execa";
import type { TestProject } from "vitest/node";
import { findOnPath, isExecutableFile } from "../../backend/programs.mjs";

declare module "vitest" {
  interface ProvidedContext {
    chromiumPath: string;
  }
}

const PROGRAM_NAMES = ["chromium", "chromium-browser", "google-chrome"] as const;
const INSTALL_TIMEOUT_MILLISECONDS = 300_000;

export default async function provideChromium(project: TestProject): Promise<void> {
  project.provide("chromiumPath", await locateChromium());
}

async function locateChromium(): Promise<string> {
  const configured = process.env.SERVICE_CHROMIUM;
  if (configured) {
    if (isExecutableFile(configured)) return configured;
    throw new Error(`SERVICE_CHROMIUM must name an executable file, not ${configured}`);
  }
  const found = onPath();
  if (found !== undefined) return found;
  if (process.getuid?.() === 0) await install();
  const installed = onPath();
  if (installed !== undefined) return installed;
  throw new Error(
    "The browser tests need Chromium: install it (Debian: apt-get install chromium) or set SERVICE_CHROMIUM.",
  );
}

function onPath(): string | undefined {
  return PROGRAM_NAMES.flatMap((name) => findOnPath(name))[0];
}

/** From the distribution's own archive. Whether it has worked is seen by whether there is a Chromium then. */
async function install(): Promise<void> {
  const options = {
    stdin: "ignore",
    reject: false,
    timeout: INSTALL_TIMEOUT_MILLISECONDS,
    env: { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
  } as const;
  const arguments_ = ["--quiet=2", "--yes", "--no-install-recommends", "install", "chromium"];
  const first = await execa("apt-get", arguments_, options);
  if (!first.failed) return;
  // The package lists are missing, as in Debian's images, or outdated.
  await execa("apt-get", ["--quiet=2", "update"], options);
  await execa("apt-get", arguments_, options);
}
