/**
 * One examination of a deployment: whom it asks, and what its checks have learned so far.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PublishedConstraints, ServiceProblem } from "../../client/client.ts";
import type { Capabilities } from "../../protocol/capabilities.ts";
import { API_TOKEN_HEADER, BACKEND_TOKEN_HEADER, CALLER_HEADER } from "../../protocol/headers.ts";
import { problemIn } from "./answer-faults.ts";
import type { MetricSample } from "./metrics-text.ts";
import { type Allowance, type Answer, type Exchange, Probe, type ProbeRequest } from "./probe.ts";

/** The caller's name in the logs of an origin that is asked directly. */
const CALLER = "doctor";

export interface NamedUrl {
  readonly name: string;
  readonly url: URL;
}

export interface ExaminationTarget {
  /** The URL of the edge; its path ends with a slash. */
  readonly url: URL;
  /** Empty where none is known. */
  readonly token: string;
  /** Backends that this machine can reach. */
  readonly origins: readonly NamedUrl[];
  /** Authenticates this program to them; empty where none is known. */
  readonly backendToken: string;
  /** Authenticates this program to `/metrics` of the edge; empty where none is known. */
  readonly metricsToken: string;
  /** The Typst on this machine that is named; undefined leaves it to be found. */
  readonly typst: string | undefined;
}

/** An answer of the edge, for the checks that look at the headers of all of them. */
export interface SeenAnswer {
  /** The request in words. */
  readonly request: string;
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly problem: ServiceProblem | null;
}

/** A backend that is asked directly. */
export class OriginUnderTest {
  readonly name: string;
  readonly url: URL;
  readonly hasToken: boolean;
  readonly #probe: Probe;
  readonly #token: string;

  constructor({ name, url }: NamedUrl, token: string, allowance: Allowance) {
    this.name = name;
    this.url = url;
    this.hasToken = token !== "";
    this.#token = token;
    this.#probe = new Probe(url, allowance);
  }

  get(path: string): Promise<Exchange> {
    return this.#probe.send({ path });
  }

  /** Sends a render request as the edge does. */
  render(body: object, headers: Readonly<Record<string, string>> = {}): Promise<Exchange> {
    return this.#probe.send({
      method: "POST",
      path: "v1/render",
      headers: {
        "Content-Type": "application/json",
        [BACKEND_TOKEN_HEADER]: this.#token,
        [CALLER_HEADER]: CALLER,
        ...headers,
      },
      body: JSON.stringify(body),
    });
  }

  close(): void {
    this.#probe.close();
  }
}

export class Examination {
  readonly target: ExaminationTarget;
  readonly allowance: Allowance;
  readonly origins: readonly OriginUnderTest[];
  /** All answers of the edge so far, without those that a gateway gave in its place. The allowance bounds their number. */
  readonly answers: SeenAnswer[] = [];
  /** Those of the host. */
  addresses: readonly string[] = [];
  /** The first answer to `/health`. */
  health: Answer | null = null;
  /** What the deployment publishes, and the same before anything was made of it. */
  constraints: { readonly document: Readonly<Record<string, unknown>>; readonly parsed: PublishedConstraints } | null =
    null;
  /** What the edge publishes as installed. */
  capabilities: Capabilities | null = null;
  /** Why no further render is sent: one was not answered in time, or no origin took it. */
  rendersObstacle: "renders are not answered" | "no origin renders" | null = null;
  /** The metrics of the edge after the renders; null while they have not been read. */
  metrics: readonly MetricSample[] | null = null;
  readonly #probe: Probe;

  readonly #metricsAgeMilliseconds: number;

  /** @param metricsAgeMilliseconds how old the metrics may be that the edge answers */
  constructor(target: ExaminationTarget, allowance: Allowance, metricsAgeMilliseconds: number) {
    this.target = target;
    this.#metricsAgeMilliseconds = metricsAgeMilliseconds;
    this.allowance = allowance;
    this.#probe = new Probe(target.url, allowance);
    this.origins = target.origins.map((origin) => new OriginUnderTest(origin, target.backendToken, allowance));
  }

  /** Asks the edge, without a token. */
  async ask(request: ProbeRequest): Promise<Exchange> {
    const exchange = await this.#probe.send(request);
    if (exchange.kind === "answer") {
      const { method = "GET", path } = request;
      const { status, headers } = exchange;
      const url = new URL(path, this.target.url);
      const problem = problemIn(exchange);
      // A gateway answers for itself where it has a limit of its own: that is no answer that it has changed.
      if (status !== 413 || problem !== null) {
        this.answers.push({ request: `${method} /${path}`, url, status, headers, problem });
      }
    }
    return exchange;
  }

  /** Asks the edge with the token. */
  askWithToken(request: ProbeRequest): Promise<Exchange> {
    return this.ask({ ...request, headers: { [API_TOKEN_HEADER]: this.target.token, ...request.headers } });
  }

  /** Asks the edge for its metrics, with their own token if one is known. */
  askForMetrics(): Promise<Exchange> {
    const { metricsToken } = this.target;
    return this.ask({
      path: "metrics",
      headers: metricsToken === "" ? {} : { Authorization: `Bearer ${metricsToken}` },
    });
  }

  /** Sends a render request to the edge. */
  async render(body: object): Promise<Exchange> {
    const exchange = await this.askWithToken({
      method: "POST",
      path: "v1/render",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (exchange.kind === "no-answer" && exchange.fault === "timed-out") {
      this.rendersObstacle = "renders are not answered";
    }
    return exchange;
  }

  /** Waits until the edge reads the metrics of its origins again. */
  async waitForMetrics(): Promise<void> {
    await delay(this.#metricsAgeMilliseconds, undefined, { signal: this.allowance.signal });
  }

  close(): void {
    this.#probe.close();
    for (const origin of this.origins) origin.close();
  }
}
