/**
 * What `wrangler deploy` runs first, by `[build]` in `wrangler.toml`: completes the static files by what is not checked in.
 */
import { provideReferenceViewer } from "./reference-viewer.mjs";

await provideReferenceViewer();
