/** The entry point on Cloudflare: a request of Workers to the edge, and its answer back. */
import { answerRequest } from "../../app.ts";
import { toResponse, WorkerRequest } from "./exchange.ts";
import { platformOf } from "./platform.ts";

export default {
  /** @param environment the bindings: see `EdgeEnvironment` */
  async fetch(request: Request, environment: object, execution?: ExecutionContext): Promise<Response> {
    const answer = await answerRequest(platformOf(environment), new WorkerRequest(request, execution));
    return toResponse(answer);
  },
};
