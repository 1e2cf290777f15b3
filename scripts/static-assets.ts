/**
 * Completes the static files by what is not checked in. `wrangler deploy` does so by `scripts/build-assets.mjs`, `npm start`
 * and the tests by themselves, before a Worker that serves them starts.
 */
import { providePlayground } from "./playground-assets.ts";
import { provideReferenceViewer } from "./reference-viewer.mjs";

let provided: Promise<unknown> | undefined;

/** Provides all of them, once per process. */
export async function provideStaticAssets(): Promise<void> {
  provided ??= Promise.all([provideReferenceViewer(), providePlayground()]);
  await provided;
}
