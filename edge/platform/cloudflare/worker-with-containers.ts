/** The entry point if backends run on Cloudflare Containers. `worker.ts` loads in a workerd that does not know them. */
import worker from "./worker.ts";

export { BackendContainer } from "./backend-container.ts";

export default worker;
