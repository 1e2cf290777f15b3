/**
 * The entry point of the Worker if backends run on Cloudflare Containers. `worker.ts` is the one for all other
 * deployments, and loads in a workerd that does not know containers.
 */
import app from "./worker.ts";

export { BackendContainer } from "./containers/backend-container.ts";

export default app;
