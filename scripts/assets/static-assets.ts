/** Completes the static files by what is not checked in, before a Worker that serves them starts or is deployed. */
import { readFile } from "node:fs/promises";
import { provideClientPackages } from "./client-packages.ts";
import { provideCompiler } from "./compiler-assets.ts";
import { provideHelpPages } from "./help-pages.ts";
import { provideLicences } from "./notices.ts";
import { providePlayground } from "./playground-assets.ts";
import { provideStaticFile } from "./static-file.ts";

/** Set by a program that has provided them, for those that it starts: only building them shows that none is missing. */
export const PROVIDED = "STATIC_FILES_PROVIDED";

const VIEWER = new URL("../../node_modules/swagger-ui-dist/", import.meta.url);
/** The viewer of the reference page, Swagger UI as bundled in its package, and its licences. */
const VIEWER_FILES = ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css"];

let provided: Promise<unknown> | undefined;

export async function provideStaticAssets(): Promise<void> {
  if (process.env[PROVIDED]) return;
  provided ??= provideAll();
  await provided;
}

async function provideAll(): Promise<void> {
  const others = [provideReferenceViewer(), provideHelpPages(), provideClientPackages()];
  const [packages, fonts] = await Promise.all([providePlayground(), provideCompiler(), ...others]);
  await provideLicences(packages, fonts);
}

async function provideReferenceViewer(): Promise<void> {
  for (const name of VIEWER_FILES) await provideStaticFile(`reference/${name}`, await readFile(new URL(name, VIEWER)));
}
