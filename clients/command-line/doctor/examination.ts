/**
 * One examination of a deployment: the servers that it asks, and what its checks have learned so far.
 */
import type { Capabilities } from "../../../protocol/capabilities.ts";
import { API_TOKEN_HEADER, BACKEND_TOKEN_HEADER, CALLER_HEADER } from "../../../protocol/headers.ts";
import type { PublishedConstraints } from "../../typescript/client.ts";
import type { Allowance } from "./allowance.ts";
import type { MetricSample } from "./metrics-text.ts";
import { Server } from "./server.ts";

export interface NamedUrl {
  readonly name: string;
  readonly url: URL;
}

export interface ExaminationTarget {
  /** The URL of the edge; its path ends with a slash. */
  readonly url: URL;
  /** Empty if none is known. */
  readonly token: string;
  /** Backends that this machine can reach. */
  readonly origins: readonly NamedUrl[];
  /** Authenticates this program to them; empty if none is known. */
  readonly backendToken: string;
  /** Authenticates this program to `/metrics` of the edge; empty if none is known. */
  readonly metricsToken: string;
  /** The path of Typst on this machine; undefined if it has to be searched for. */
  readonly typst: string | undefined;
}

export class Examination {
  readonly target: ExaminationTarget;
  readonly allowance: Allowance;
  readonly edge: Server;
  readonly origins: readonly Server[];
  /** After this time, the edge reads the metrics of its origins again. */
  readonly metricsAgeMilliseconds: number;
  addresses: readonly string[] = [];
  /** What the deployment publishes, including members that this program does not know. */
  constraints: PublishedConstraints | null = null;
  /** What is installed, according to the edge. */
  capabilities: Capabilities | null = null;
  /** Whether a render has shown that no origin accepts renders. */
  isWithoutOrigin = false;
  /** The metrics of the edge after the renders; empty until they have been read. */
  metrics: readonly MetricSample[] = [];

  constructor(target: ExaminationTarget, allowance: Allowance, metricsAgeMilliseconds: number) {
    this.target = target;
    this.allowance = allowance;
    this.metricsAgeMilliseconds = metricsAgeMilliseconds;
    const { url, token, backendToken } = target;
    this.edge = new Server(null, url, { [API_TOKEN_HEADER]: token }, allowance);
    const credentials = { [BACKEND_TOKEN_HEADER]: backendToken, [CALLER_HEADER]: "doctor" };
    this.origins = target.origins.map((origin) => new Server(origin.name, origin.url, credentials, allowance));
  }

  close(): void {
    for (const server of [this.edge, ...this.origins]) server.close();
  }
}

/** A value from an earlier check, which the check that uses it names in `needs`. */
export function known<Value>(value: Value | null): Value {
  if (value === null) throw new Error("a check uses a value that none of the checks in its needs has set");
  return value;
}
