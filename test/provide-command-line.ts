/**
 * Builds the command line client once, as it is published: from its sources it takes twice as long to start, hundreds
 * of times.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { TestProject } from "vitest/node";

const BUILD = fileURLToPath(new URL("../scripts/build-package.ts", import.meta.url));

declare module "vitest" {
  interface ProvidedContext {
    commandLinePath: string;
  }
}

export default async function provideCommandLine(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "command-line-"));
  await execa(process.execPath, [BUILD, "cli", folder]);
  project.provide("commandLinePath", join(folder, "main.js"));
  return () => rm(folder, { recursive: true });
}
