/** The context of a request: bindings, variables and the state of the isolate. */
import type { Context } from "hono";
import { limitsFingerprint } from "../rules/limits.ts";
import { type Backend, openBackend } from "./backends/backend.ts";
import { BackendChoice } from "./backends/backend-choice.ts";
import { BodyMemory } from "./body/body-memory.ts";
import type { FairLimit } from "./body/fair-limit.ts";
import { uploadLimit } from "./body/read-body.ts";
import { CommonCapabilities } from "./gathered/common-capabilities.ts";
import { MetricsScraper } from "./gathered/metrics-scraper.ts";
import type { RequestRecord } from "./log/request-record.ts";
import { UnreportedCounts } from "./log/unreported-counts.ts";
import { type EdgeSettings, readEdgeSettings } from "./settings.ts";
import type { TaggedJson } from "./tagged-json.ts";

/** The Worker's bindings: the static documents, an optional rate limit, settings as strings, and those that name backends. */
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
  readonly backends: readonly Backend[];
  readonly backendChoice: BackendChoice;
  readonly metricsScraper: MetricsScraper;
  readonly commonCapabilities: CommonCapabilities;
  /** The document of `/v1/constraints`; null until it is first asked for. */
  constraints: Promise<TaggedJson> | null;
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
  const backends = settings.backends.map((address) =>
    counts.reportedBy(openBackend(address, env, settings.accessToken), settings.backendToken),
  );
  const deployment: Deployment = {
    settings,
    limitsFingerprint: limitsFingerprint(settings.limits),
    bodyMemory: new BodyMemory(settings.limits.max_request_body_bytes),
    uploads: uploadLimit(settings.bodyTimeoutSeconds),
    counts,
    backends,
    backendChoice: new BackendChoice(backends.length),
    metricsScraper: new MetricsScraper(backends, settings.metricsAccess.kind === "open"),
    commonCapabilities: new CommonCapabilities(backends),
    constraints: null,
  };
  deployments.set(env, deployment);
  return deployment;
}

export function settingsOf(context: EdgeContext): EdgeSettings {
  return deploymentOf(context).settings;
}
