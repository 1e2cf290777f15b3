/**
 * One examination of a deployment: whom it asks, and what its checks have learned so far.
 */
import type { PublishedConstraints } from "../../client/client.ts";
import type { Capabilities } from "../../protocol/capabilities.ts";
import { API_TOKEN_HEADER, BACKEND_TOKEN_HEADER, CALLER_HEADER } from "../../protocol/headers.ts";
import type { Allowance } from "./allowance.ts";
import type { Exchange } from "./answers.ts";
import type { MetricSample } from "./metrics-text.ts";
import { Server } from "./server.ts";

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

export class Examination {
  readonly target: ExaminationTarget;
  readonly allowance: Allowance;
  readonly edge: Server;
  readonly origins: readonly Server[];
  /** After this time, the edge reads the metrics of its origins again. */
  readonly metricsAgeMilliseconds: number;
  /** The addresses of the host. */
  addresses: readonly string[] = [];
  /** What the deployment publishes, and the same as it came. */
  constraints: PublishedConstraints | null = null;
  document: Readonly<Record<string, unknown>> | null = null;
  /** What the edge publishes as installed. */
  capabilities: Capabilities | null = null;
  /** Why no further render is sent: one was not answered in time, or no origin took it. */
  rendersObstacle: "renders are not answered" | "no origin renders" | null = null;
  /** The metrics of the edge after the renders; empty while they have not been read. */
  metrics: readonly MetricSample[] = [];

  constructor(target: ExaminationTarget, allowance: Allowance, metricsAgeMilliseconds: number) {
    this.target = target;
    this.allowance = allowance;
    this.metricsAgeMilliseconds = metricsAgeMilliseconds;
    const { url, token, backendToken } = target;
    this.edge = new Server(null, url, { [API_TOKEN_HEADER]: token }, allowance);
    const credentials = { [BACKEND_TOKEN_HEADER]: backendToken, [CALLER_HEADER]: CALLER };
    this.origins = target.origins.map((origin) => new Server(origin.name, origin.url, credentials, allowance));
  }

  /** Sends a render request to the edge. */
  async render(body: object): Promise<Exchange> {
    const exchange = await this.edge.render(body);
    if (exchange.kind === "no-answer" && exchange.fault === "timed-out") {
      this.rendersObstacle = "renders are not answered";
    }
    return exchange;
  }

  close(): void {
    for (const server of [this.edge, ...this.origins]) server.close();
  }
}

/** What an earlier check has learned, which a check names in `needs`. */
export function known<Value>(value: Value | null): Value {
  if (value === null) throw new Error("a check uses what none of the checks that it needs has learned");
  return value;
}
