/** Completes the static files, as `wrangler deploy` does, once for all programs of a test run that serve them. */
import { PROVIDED, provideStaticAssets } from "../scripts/assets/static-assets.ts";

export default async function provideStaticFiles(): Promise<void> {
  await provideStaticAssets();
  process.env[PROVIDED] = "yes";
}
