/**
 * The viewer of the reference page among the static files: Swagger UI as its package has it, bundled by its makers. It is
 * copied and not checked in, being 2 MB of another project's code.
 *
 * Runs before a Worker with assets does: `wrangler deploy` calls it by `scripts/build-assets.mjs`, `npm start` and the
 * tests by themselves.
 */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";

const SOURCE = new URL("../node_modules/swagger-ui-dist/", import.meta.url);
const TARGET = new URL("../static/reference/", import.meta.url);

/** Its licences go with it. */
const FILES = ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css"];

/** Puts the viewer's files where they are served, unless they are there already. */
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
  // Another process may read it, or write the same, at this moment.
  const temporary = new URL(`${name}.${process.pid}.tmp`, TARGET);
  try {
    await writeFile(temporary, content);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}
