/** The edge, with a class of Durable Objects whose state tests can use. */
import { DurableObject } from "cloudflare:workers";

export { default } from "../../edge/platform/cloudflare/worker.ts";

export class TestObject extends DurableObject {}
