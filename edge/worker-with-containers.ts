/**
 * The entry point of the Worker where backends run on Cloudflare Containers. `worker.ts` is the one without: it loads in a
 * workerd that knows no containers.
 */
import { app } from "./app.ts";

export { BackendContainer } from "./containers/backend-container.ts";

export default app;
