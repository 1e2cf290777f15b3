/**
 * Writing a file of the work directory that running processes read: whole or not at all, and never into one that is
 * there.
 */
import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";

/**
 * Writes a file where there is none.
 *
 * @throws where it cannot be written.
 */
export async function writeMissing(path: string, content: string | Uint8Array): Promise<void> {
  if (existsSync(path)) return;
  const part = `${path}.part`;
  // One that was not finished, for want of space perhaps, cannot be written into.
  await rm(part, { force: true });
  // To be executed as well: one of the files is the loader of programs.
  await writeFile(part, content, { mode: 0o555 });
  await rename(part, path);
}
