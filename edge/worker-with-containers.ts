/**
 * The entry point of the Worker if backends run on Cloudflare Containers. `worker.ts` is the entry point for all other deployments,
 * and loads in a workerd that does not know containers.
 */
import { app } from "./app.ts";

export { BackendContainer } from "./containers/backend-container.ts";

export default app;
