/** The context of a request, and what a deployment keeps for all of them. */
import type { Capabilities } from "../protocol/capabilities.ts";
import { ALL_EDGE_ROUTES, allowedMethods, METRICS_PATH, SECURITY_TEXT_PATH } from "../protocol/routes.ts";
import { limitsFingerprint } from "../rules/limits.ts";
import { SettingError } from "../rules/settings.ts";
import { EdgeCounts } from "./backends/backend.ts";
import { accessTokenFor } from "./backends/backend-address.ts";
import { BackendChoice } from "./backends/backend-choice.ts";
import { BackendPool } from "./backends/backend-list.ts";
import { BodyMemory } from "./body/body-memory.ts";
import { FairLimit } from "./body/fair-limit.ts";
import { longestRenderMilliseconds, makeUploadLimit } from "./body/read-body.ts";
import { MONOTONIC_CLOCK, RequestClock } from "./clock.ts";
import { shareCapabilities } from "./gathered/common-capabilities.ts";
import { type GatheredMetrics, shareMetrics } from "./gathered/metrics.ts";
import type { SharedAnswer } from "./gathered/shared-answer.ts";
import { RequestRecord } from "./log/request-record.ts";
import type { ClientRequest, Platform } from "./platform/platform.ts";
import { type EdgeSettings, readEdgeSettings } from "./settings.ts";

/** Where the client sent its request. */
export type RequestOrigin = Readonly<Pick<URL, "protocol" | "host" | "hostname">>;

export class EdgeContext {
  readonly platform: Platform;
  readonly request: ClientRequest;
  readonly path: string;
  readonly requestId = crypto.randomUUID();
  readonly record = new RequestRecord();
  readonly clock = new RequestClock();
  /** Once its token is known. */
  caller: string | null = null;
  /** Once it is known to be valid. */
  origin: RequestOrigin = { protocol: "", host: "", hostname: "" };

  constructor(platform: Platform, request: ClientRequest) {
    this.platform = platform;
    this.request = request;
    this.path = pathOf(request.url);
  }
}

/** The path as routes are written. What cannot be decoded stays as it is, and so does an encoded percent sign. */
function pathOf(url: string): string {
  const [, path = ""] = /^[^/]*\/\/[^/]*([^?#]*)/.exec(url) ?? [];
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path.replaceAll("%25", "%2525"));
  } catch {
    return path;
  }
}

interface Deployment {
  readonly settings: EdgeSettings;
  /** See `limitsFingerprint`: each render carries it. */
  readonly limitsFingerprint: string;
  readonly bodyMemory: BodyMemory;
  readonly uploads: FairLimit;
  /** From their upload until an answer begins. */
  readonly renders: FairLimit;
  readonly counts: EdgeCounts;
  readonly pool: BackendPool;
  readonly backendChoice: BackendChoice;
  readonly metrics: SharedAnswer<GatheredMetrics>;
  readonly commonCapabilities: SharedAnswer<Capabilities | null>;
  /** The document of `/v1/constraints`; null until it is first asked for. */
  constraints: object | null;
}

const deployments = new WeakMap<Platform, Deployment>();

/** Its settings are read once. @throws SettingError when one is not valid. */
export function deploymentOf({ platform }: Pick<EdgeContext, "platform">): Deployment {
  const known = deployments.get(platform);
  if (known !== undefined) return known;
  const settings = readEdgeSettings(platform.settings);
  const counts = new EdgeCounts();
  const { services } = settings.backends;
  const lookUp = services.length === 0 ? async () => [] : platform.openLookup(settings.nameServers);
  const pool = new BackendPool(settings.backends, {
    clock: MONOTONIC_CLOCK,
    open: (address) => {
      const backend = platform.openBackend(address, accessTokenFor(address, settings));
      return platform.isWholeEdge ? backend : counts.reportThrough(backend, settings.backendToken);
    },
    lookUp,
    onChange: (backends) => backendChoice.keep(backends),
    report: (service, news) => {
      if (typeof news !== "string")
        platform.writeLog("info", { message: "the backends have changed", service, ...news });
      else platform.writeLog("warn", { message: "backends are not found", service, cause: news });
    },
  });
  const backendChoice = new BackendChoice(pool.backends);
  const deployment: Deployment = {
    settings,
    limitsFingerprint: limitsFingerprint(settings.limits),
    bodyMemory: openBodyMemory(settings, platform),
    uploads: makeUploadLimit(settings.bodyTimeoutSeconds),
    renders: new FairLimit(
      Math.min(settings.maxOpenRenders, platform.maxOpenRenders ?? Number.POSITIVE_INFINITY),
      longestRenderMilliseconds(settings.bodyTimeoutSeconds, settings.backendTimeoutSeconds),
    ),
    counts,
    pool,
    backendChoice,
    metrics: shareMetrics(
      pool,
      (backend) => backendChoice.hasAnswered(backend),
      settings.metricsAccess.kind === "open",
      platform.memoryBounds?.gatheredBytes,
    ),
    commonCapabilities: shareCapabilities(
      pool,
      (line) => platform.writeLog("warn", line),
      platform.memoryBounds?.gatheredBytes,
    ),
    constraints: null,
  };
  deployments.set(platform, deployment);
  return deployment;
}

/** @throws SettingError when the largest body takes more than the platform leaves for bodies. */
function openBodyMemory({ limits }: EdgeSettings, { memoryBounds }: Platform): BodyMemory {
  const largest = limits.max_request_body_bytes;
  if (memoryBounds === undefined) return new BodyMemory(largest);
  if (largest <= memoryBounds.largestBodyBytes) return new BodyMemory(largest, memoryBounds.bodyBytes);
  throw new SettingError(
    `SERVICE_MAX_REQUEST_BODY_BYTES may be at most ${memoryBounds.largestBodyBytes} on Cloudflare, whose isolates have 128 MB for everything.`,
  );
}

/** @throws SettingError when one is not valid */
export function settingsOf(context: Pick<EdgeContext, "platform">): EdgeSettings {
  return deploymentOf(context).settings;
}

/** The methods of the requested path as `Allow` lists them; null if this deployment does not serve the path. */
export function servedMethods(context: EdgeContext): string | null {
  const { path } = context;
  const isOff =
    (path === METRICS_PATH && settingsOf(context).metricsAccess.kind === "off") ||
    (path === SECURITY_TEXT_PATH && settingsOf(context).securityContacts.length === 0);
  return isOff ? null : allowedMethods(ALL_EDGE_ROUTES, path);
}
