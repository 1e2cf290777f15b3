/** Temporary folders that are removed when their test has finished. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export async function makeTemporaryFolder(prefix: string): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), prefix)));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
