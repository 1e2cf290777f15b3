/** Completes the static files before the Worker is tested with them, as `wrangler deploy` does. */
import { provideStaticAssets } from "../scripts/static-assets.ts";

export default provideStaticAssets;
