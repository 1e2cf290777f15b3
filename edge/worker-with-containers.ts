/** The entry point if backends run on Cloudflare Containers. `worker.ts` loads in a workerd that does not know them. */
import app from "./worker.ts";

export { BackendContainer } from "./containers/backend-container.ts";

export default app;
