/**
 * Completes the static files by what is not checked in. `wrangler deploy` does so by `scripts/build-assets.mjs`, `npm start`
 * and the tests by themselves, before a Worker that serves them starts.
 */
import { providePlayground } from "./playground-assets.ts";
import { provideReferenceViewer } from "./reference-viewer.mjs";

/** Set in the environment by a program that has provided them, for those that it starts: only building them shows that nothing is missing. */
export const PROVIDED = "STATIC_FILES_PROVIDED";

let provided: Promise<unknown> | undefined;

/** Provides all of them, once per process. */
export async function provideStaticAssets(): Promise<void> {
  if (process.env[PROVIDED]) return;
  provided ??= Promise.all([provideReferenceViewer(), providePlayground()]);
  await provided;
}
