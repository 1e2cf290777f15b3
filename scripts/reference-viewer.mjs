/**
 * The viewer of the reference page among the static files: Swagger UI as its package has it, bundled by its makers. It is
 * copied and not checked in, being 2 MB of another project's code.
 */
import { readFile } from "node:fs/promises";
import { provideStaticFile } from "./static-file.mjs";

const SOURCE = new URL("../node_modules/swagger-ui-dist/", import.meta.url);

/** Its licences go with it. */
const FILES = ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css"];

/** Puts the viewer's files where they are served, unless they are there already. */
export async function provideReferenceViewer() {
  await Promise.all(
    FILES.map(async (name) => provideStaticFile(`reference/${name}`, await readFile(new URL(name, SOURCE)))),
  );
}
