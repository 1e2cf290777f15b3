/**
 * The context of a request: bindings, variables and the state of the isolate.
 */
import type { Context } from "hono";
import { limitsFingerprint } from "../rules/limits.ts";
import { BodyMemory } from "./body-memory.ts";
import type { FairLimit } from "./fair-limit.ts";
import { MetricsScraper } from "./metrics-scraper.ts";
import { OriginCapabilities } from "./origin-capabilities.ts";
import { type Origin, openOrigin } from "./origins/origin.ts";
import { OriginChoice } from "./origins/origin-choice.ts";
import { uploadLimit } from "./read-body.ts";
import type { RequestRecord } from "./request-record.ts";
import { type EdgeSettings, readEdgeSettings } from "./settings.ts";
import { UnreportedCounts } from "./unreported-counts.ts";

/** The Worker's bindings: the static documents, an optional rate limit, settings as strings, and those that name origins. */
export interface EdgeEnvironment {
  readonly ASSETS: Fetcher;
  readonly CALLER_RATE_LIMITER?: RateLimit;
  readonly [name: string]: unknown;
}

export interface EdgeBindings {
  Bindings: EdgeEnvironment;
  Variables: {
    requestId: string;
    /** The caller's name; set on routes that require a token. */
    caller: string;
    /** What is logged of the request at its end. */
    record: RequestRecord;
  };
}

export type EdgeContext = Context<EdgeBindings>;

/** The state that the requests of one isolate share. */
interface Deployment {
  readonly settings: EdgeSettings;
  /** See `limitsFingerprint`: each render carries it. */
  readonly limitsFingerprint: string;
  readonly bodyMemory: BodyMemory;
  /** The bodies that are being read. */
  readonly uploads: FairLimit;
  /** Of refusals and failed attempts. */
  readonly counts: UnreportedCounts;
  readonly origins: readonly Origin[];
  readonly originChoice: OriginChoice;
  readonly metricsScraper: MetricsScraper;
  readonly originCapabilities: OriginCapabilities;
}

/** The bindings are one object for the life of an isolate, so its settings are read once. */
const deployments = new WeakMap<EdgeEnvironment, Deployment>();

/**
 * The deployment that serves the request.
 *
 * @throws SettingError when a setting is not valid.
 */
export function deploymentOf({ env }: EdgeContext): Deployment {
  const known = deployments.get(env);
  if (known !== undefined) return known;
  const settings = readEdgeSettings(env);
  const counts = new UnreportedCounts();
  const origins = settings.backends.map((address) =>
    counts.reportedBy(openOrigin(address, env, settings.accessToken), settings.backendToken),
  );
  const deployment = {
    settings,
    limitsFingerprint: limitsFingerprint(settings.limits),
    bodyMemory: new BodyMemory(settings.limits.max_request_body_bytes),
    uploads: uploadLimit(settings.bodyTimeoutSeconds),
    counts,
    origins,
    originChoice: new OriginChoice(origins.length),
    metricsScraper: new MetricsScraper(origins, settings.metricsAccess.kind === "open"),
    originCapabilities: new OriginCapabilities(origins),
  };
  deployments.set(env, deployment);
  return deployment;
}

export function settingsOf(context: EdgeContext): EdgeSettings {
  return deploymentOf(context).settings;
}
