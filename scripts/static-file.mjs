/** Writes what is built among the static files. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const STATIC = new URL("../static/", import.meta.url);

/**
 * Puts a file where it is served, unless it is there already.
 *
 * @param {string} path below `static/`
 * @param {Uint8Array} content
 */
export async function provideStaticFile(path, content) {
  const target = fileURLToPath(new URL(path, STATIC));
  const present = await readFile(target).catch(() => undefined);
  if (present?.equals(content)) return;
  await mkdir(dirname(target), { recursive: true });
  // Another process may read it, or write the same, at this moment.
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}
