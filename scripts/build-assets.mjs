/**
 * What `wrangler deploy` runs first, by `[build]` in `wrangler.toml`: completes the static files by what is not checked in.
 */
import { provideStaticAssets } from "./static-assets.ts";

await provideStaticAssets();
