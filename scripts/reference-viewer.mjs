/**
 * Copies the viewer of the reference page, Swagger UI as bundled in its package, to the static files. It is not checked in,
 * because it is 2 MB of another project's code.
 *
 * Must run before a Worker with assets starts: `wrangler deploy` calls it through `scripts/build-assets.mjs`, `npm start` and
 * the tests call it directly.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";

const SOURCE = new URL("../node_modules/swagger-ui-dist/", import.meta.url);
const TARGET = new URL("../static/reference/", import.meta.url);

/** The viewer and its licences. */
const FILES = ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css"];

/** Copies the viewer's files to the served folder, unless they are already there. */
export async function provideReferenceViewer() {
  await mkdir(TARGET, { recursive: true });
  await Promise.all(FILES.map(provide));
}

/** @param {string} name */
async function provide(name) {
  const content = await readFile(new URL(name, SOURCE));
  const target = new URL(name, TARGET);
  const present = await readFile(target).catch(() => undefined);
  if (present?.equals(content)) return;
  // Atomic, because another process may be reading or writing the same file.
  const temporary = new URL(`${name}.${process.pid}.tmp`, TARGET);
  try {
    await writeFile(temporary, content);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}
