/**
 * Copies the viewer of the reference page, Swagger UI as bundled in its package, to the static files. It is not checked in,
 * because it is 2 MB of another project's code.
 *
 * Must run before a Worker with assets starts: `wrangler deploy` calls it through `scripts/build-assets.mjs`, `npm start` and
 * the tests call it directly.
 */
import { readFile } from "node:fs/promises";
import { provideStaticFile } from "./static-file.mjs";

const SOURCE = new URL("../node_modules/swagger-ui-dist/", import.meta.url);

/** The viewer and its licences. */
const FILES = ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css"];

/** Copies the viewer's files to the served folder, unless they are already there. */
export async function provideReferenceViewer() {
  await Promise.all(
    FILES.map(async (name) => provideStaticFile(`reference/${name}`, await readFile(new URL(name, SOURCE)))),
  );
}
