/** The client: a render request in, a rendered file or a problem out, by what Node, browsers and Workers all have. */
import type { PublishedConstraints } from "../../rules/published-rules.ts";
import { ConstraintsCache, type ConstraintsOutcome, type ConstraintsStore } from "./constraints-cache.ts";
import type { LocalCheck } from "./local-check.ts";
import { encodeRequest, type RenderRequest } from "./render-request.ts";
import { type RenderedFile, readRenderedFile } from "./rendered-file.ts";
import {
  type Failure,
  type RetryEvent,
  type RetryOptions,
  type RetryPolicy,
  retryPolicy,
  wait,
  waitBeforeRetry,
} from "./retry.ts";
import type { ServiceProblem } from "./service-problem.ts";
import { type SilenceEvent, silencePolicy } from "./silence.ts";
import { type Fetch, type SendResult, type ServiceRequest, Transport } from "./transport.ts";

export interface ServiceClientOptions {
  /** The base address of the service, to which `/v1/render` is added. */
  readonly url: string | URL;
  /** Of the caller. Undefined, as a variable of the environment that is not set, throws a sentence that says so. */
  readonly token: string | undefined;
  /** Takes the place of the platform's own `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** When to send a request again; `false` never does. */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * How long an attempt waits while nothing comes, before the answer or within it. Default: 300; at most 3600. For what is no
   * render it is at most 60. Node's own `fetch` waits at most 300.
   */
  readonly silenceTimeoutSeconds?: number | undefined;
  /** Called whenever an attempt has waited for 20 seconds while nothing came, which is no failure yet. */
  readonly onSilence?: ((event: SilenceEvent) => void) | undefined;
  /** Whether `render` validates a request before it sends it. Default: true. The service validates in any case. */
  readonly checkBeforeSending?: boolean | undefined;
  /** Keeps the constraints beyond the life of this client. */
  readonly constraintsStore?: ConstraintsStore | undefined;
}

export interface CallOptions {
  /** Ends the call, its waits and the render itself. The call throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each wait for another attempt. */
  readonly onRetry?: ((event: RetryEvent) => void) | undefined;
}

export type RenderResult = RenderedFile | RejectedRender;

export interface RejectedRender {
  readonly ok: false;
  readonly problem: ServiceProblem;
  /** Whether the problem was found before the request was sent: the service has not seen it. */
  readonly checkedLocally: boolean;
}

export type ConstraintsResult =
  | { readonly ok: true; readonly constraints: PublishedConstraints }
  | { readonly ok: false; readonly problem: ServiceProblem };

export type CheckResult =
  | LocalCheck
  /** The service did not say its constraints: mostly because of the token. */
  | { readonly verdict: "unavailable"; readonly problem: ServiceProblem };

/**
 * A client of one deployment. It keeps no connection and needs no closing.
 *
 * Every method throws `ServiceUnreachableError` after the last retry, `UnexpectedResponseError` when something other
 * than the service answers, and the reason of the signal when it is aborted. Problems are returned, not thrown.
 */
export class ServiceClient {
  readonly #transport: Transport;
  readonly #retry: RetryPolicy;
  readonly #checkBeforeSending: boolean;
  readonly #constraints: ConstraintsCache;

  /** @throws TypeError or RangeError when an option cannot be used */
  constructor(options: ServiceClientOptions) {
    const silence = silencePolicy(options.silenceTimeoutSeconds, options.onSilence);
    this.#transport = new Transport(options.url, options.token, options.fetch, silence);
    this.#retry = retryPolicy(options.retry);
    this.#checkBeforeSending = options.checkBeforeSending ?? true;
    this.#constraints = new ConstraintsCache(options.constraintsStore);
  }

  async render(request: RenderRequest, options: CallOptions = {}): Promise<RenderResult> {
    const body = encodeRequest(request);
    if (this.#checkBeforeSending) {
      // One attempt: if the constraints cannot be fetched, the request is sent unchecked, and its own answer counts.
      const outcome = await this.#constraints.get((constraintsRequest) =>
        this.#transport.send(constraintsRequest, options.signal),
      );
      if (outcome.kind === "constraints") {
        const check = await checkLocally(body, outcome.constraints);
        if (check.verdict === "refused") return { ok: false, problem: check.problem, checkedLocally: true };
      }
    }
    const answer = await this.#sendWithRetries(
      {
        method: "POST",
        path: "v1/render",
        headers: { "Content-Type": "application/json" },
        body,
        read: (response, url, silence) =>
          readRenderedFile(response, url, this.#constraints.maxOutputBytes, silence, options.signal),
      },
      options,
    );
    if (answer.kind === "answer") return answer.value;
    return { ok: false, problem: problemOf(answer.failure), checkedLocally: false };
  }

  /** Validates a request by the constraints of the deployment, without sending it. */
  async check(request: RenderRequest, options: CallOptions = {}): Promise<CheckResult> {
    const result = await this.constraints(options);
    if (!result.ok) return { verdict: "unavailable", problem: result.problem };
    return checkLocally(encodeRequest(request), result.constraints);
  }

  /** Limits, rules and conformance vectors of the deployment. They are kept, and compared every few minutes. */
  async constraints(options: CallOptions = {}): Promise<ConstraintsResult> {
    const outcome: ConstraintsOutcome = await this.#constraints.get((request) =>
      this.#sendWithRetries(request, options),
    );
    if (outcome.kind === "constraints") return { ok: true, constraints: outcome.constraints };
    return { ok: false, problem: problemOf(outcome.failure) };
  }

  /** An answer, or the failure of the last attempt. */
  async #sendWithRetries<Value>(
    request: ServiceRequest<Value>,
    { signal, onRetry }: CallOptions,
  ): Promise<SendResult<Value>> {
    const startMilliseconds = performance.now();
    for (let attempts = 1; ; attempts++) {
      const answer = await this.#transport.send(request, signal);
      if (answer.kind === "answer") return answer;
      const { failure } = answer;
      const elapsedSeconds = (performance.now() - startMilliseconds) / 1000;
      const waitSeconds = waitBeforeRetry(this.#retry, { attempts, elapsedSeconds, failure }, Math.random());
      if (waitSeconds === null) {
        return {
          kind: "failure",
          failure: failure instanceof Error ? failure.after(attempts, elapsedSeconds) : failure,
        };
      }
      onRetry?.({ attempt: attempts, waitSeconds, reason: failure });
      await wait(waitSeconds, signal);
    }
  }
}

/** @throws ServiceUnreachableError if the failure is not an answer of the service */
function problemOf(failure: Failure): ServiceProblem {
  if (failure instanceof Error) throw failure;
  return failure;
}

async function checkLocally(body: Uint8Array, constraints: PublishedConstraints): Promise<LocalCheck> {
  const rules = await import("./local-check.ts");
  return rules.checkLocally(body, constraints);
}
