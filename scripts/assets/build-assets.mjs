/** `wrangler deploy` runs this first (`[build]` in `wrangler.toml`): adds the static files that are not checked in. */
import { provideStaticAssets } from "./static-assets.ts";

await provideStaticAssets();
