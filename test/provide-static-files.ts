/** Completes the static files before the Worker is tested with them, as `wrangler deploy` does. */
import { provideReferenceViewer } from "../scripts/reference-viewer.mjs";

export default provideReferenceViewer;
