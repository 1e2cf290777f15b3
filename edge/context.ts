/** The context of a request: bindings, variables and the state of the isolate. */
import type { Context } from "hono";
import type { Capabilities } from "../protocol/capabilities.ts";
import { COMMON_HEADERS, REQUEST_ID_HEADER, SERVER_TIMING_HEADER } from "../protocol/headers.ts";
import { ALL_EDGE_ROUTES, allowedMethods, METRICS_PATH, SECURITY_TEXT_PATH } from "../protocol/routes.ts";
import { limitsFingerprint } from "../rules/limits.ts";
import { SettingError } from "../rules/settings.ts";
import { openBackend, UnreportedCounts } from "./backends/backend.ts";
import { accessTokenFor } from "./backends/backend-address.ts";
import { BackendChoice } from "./backends/backend-choice.ts";
import { BackendPool } from "./backends/backend-list.ts";
import { lookUpService } from "./backends/look-up-service.ts";
import { parseResolvConf, type ResolverSettings } from "./backends/name-servers.ts";
import { BodyMemory } from "./body/body-memory.ts";
import { FairLimit } from "./body/fair-limit.ts";
import { longestRenderMilliseconds, makeUploadLimit } from "./body/read-body.ts";
import { type RequestClock, WALL_CLOCK } from "./clock.ts";
import { shareCapabilities } from "./gathered/common-capabilities.ts";
import { shareMetrics } from "./gathered/metrics.ts";
import type { SharedAnswer } from "./gathered/shared-answer.ts";
import { type RequestRecord, writeLine } from "./log/request-record.ts";
import { type EdgeSettings, readEdgeSettings } from "./settings.ts";

export interface EdgeEnvironment {
  readonly ASSETS: Fetcher;
  readonly CALLER_RATE_LIMITER?: RateLimit;
  /** The files of `/etc`, where the edge runs in workerd alone. */
  readonly MACHINE_SETTINGS?: Fetcher;
  readonly [name: string]: unknown;
}

/** Where the client sent its request. */
export type RequestOrigin = Readonly<Pick<URL, "protocol" | "host" | "hostname">>;

export interface EdgeBindings {
  Bindings: EdgeEnvironment;
  /** To be read by `get`: `var` makes an object of all of them each time. */
  Variables: {
    requestId: string;
    caller: string;
    record: RequestRecord;
    clock: RequestClock;
    origin: RequestOrigin;
  };
}

export type EdgeContext = Context<EdgeBindings>;

interface Deployment {
  readonly settings: EdgeSettings;
  /** See `limitsFingerprint`: each render carries it. */
  readonly limitsFingerprint: string;
  readonly bodyMemory: BodyMemory;
  readonly uploads: FairLimit;
  /** From their upload until an answer begins. */
  readonly renders: FairLimit;
  readonly counts: UnreportedCounts;
  readonly pool: BackendPool;
  readonly backendChoice: BackendChoice;
  readonly metrics: SharedAnswer<string>;
  readonly commonCapabilities: SharedAnswer<Capabilities | null>;
  /** The document of `/v1/constraints`; null until it is first asked for. */
  constraints: object | null;
}

/** The bindings are one object for the life of an isolate, so its settings are read once. */
const deployments = new WeakMap<EdgeEnvironment, Deployment>();

/** @throws SettingError when a setting is not valid. */
export function deploymentOf({ env }: EdgeContext): Deployment {
  const known = deployments.get(env);
  if (known !== undefined) return known;
  const settings = readEdgeSettings(env);
  const counts = new UnreportedCounts();
  const resolver = openResolver(settings, env);
  const pool = new BackendPool(settings.backends, {
    clock: WALL_CLOCK,
    open: (address) =>
      counts.reportThrough(openBackend(address, env, accessTokenFor(address, settings)), settings.backendToken),
    lookUp: ({ service }) => lookUpService(service, resolver),
    onChange: (backends) => backendChoice.keep(backends),
    report: ({ service }, news) => {
      const { logRequests } = settings;
      if (typeof news !== "string")
        writeLine(logRequests, "info", { message: "the backends have changed", service, ...news });
      else writeLine(logRequests, "warn", { message: "backends are not found", service, cause: news });
    },
  });
  const backendChoice = new BackendChoice(pool.backends);
  const deployment: Deployment = {
    settings,
    limitsFingerprint: limitsFingerprint(settings.limits),
    bodyMemory: new BodyMemory(settings.limits.max_request_body_bytes),
    uploads: makeUploadLimit(settings.bodyTimeoutSeconds),
    renders: new FairLimit(
      settings.maxOpenRenders,
      longestRenderMilliseconds(settings.bodyTimeoutSeconds, settings.backendTimeoutSeconds),
    ),
    counts,
    pool,
    backendChoice,
    metrics: shareMetrics(
      pool,
      (backend) => backendChoice.hasAnswered(backend),
      settings.metricsAccess.kind === "open",
    ),
    commonCapabilities: shareCapabilities(pool, (line) => writeLine(settings.logRequests, "warn", line)),
    constraints: null,
  };
  deployments.set(env, deployment);
  return deployment;
}

/** The name servers of the settings, or the machine's. @throws SettingError when some are needed and none are set. */
function openResolver(
  { backends, nameServers }: EdgeSettings,
  { MACHINE_SETTINGS }: EdgeEnvironment,
): () => Promise<ResolverSettings> {
  if (MACHINE_SETTINGS === undefined) {
    if (backends.services.length > 0 && nameServers.length === 0) {
      throw new SettingError("SERVICE_DNS_SERVERS must name a name server for the srv: names of SERVICE_BACKEND_URLS.");
    }
    return async () => ({ servers: nameServers, search: [], dots: 0 });
  }
  return async () => {
    // Each time: it is a short file, and a machine that comes into another network rewrites it.
    const file = await MACHINE_SETTINGS.fetch("http://machine/resolv.conf");
    const machine = parseResolvConf(file.ok ? await file.text() : "");
    return nameServers.length > 0 ? { ...machine, servers: nameServers } : machine;
  };
}

/** The header fields of every answer. */
export function answerHeaders(context: EdgeContext): Readonly<Record<string, string>> {
  const timing = context.get("record").serverTiming;
  return {
    [REQUEST_ID_HEADER]: context.get("requestId"),
    ...COMMON_HEADERS,
    ...(timing !== "" && { [SERVER_TIMING_HEADER]: timing }),
  };
}

/** Makes an answer with all of its header fields at once: each that is set later takes some 10 µs (2026-11-28). */
export function respond(
  context: EdgeContext,
  body: BodyInit | null,
  { status = 200, headers }: { readonly status?: number; readonly headers: Readonly<Record<string, string>> },
): Response {
  const response = new Response(body, { status, headers: { ...answerHeaders(context), ...headers } });
  context.get("record").complete = response;
  return response;
}

export function settingsOf(context: EdgeContext): EdgeSettings {
  return deploymentOf(context).settings;
}

/** The methods of the requested path as `Allow` lists them; null if this deployment does not serve the path. */
export function servedMethods(context: EdgeContext): string | null {
  const { path } = context.req;
  const isOff =
    (path === METRICS_PATH && settingsOf(context).metricsAccess.kind === "off") ||
    (path === SECURITY_TEXT_PATH && settingsOf(context).securityContacts.length === 0);
  return isOff ? null : allowedMethods(ALL_EDGE_ROUTES, path);
}

/** Has the backends that DNS names looked up again if it is time, and waits until one is known. */
export async function renewBackends(context: EdgeContext): Promise<void> {
  const { pool, settings } = deploymentOf(context);
  if (settings.backends.services.length === 0) return;
  context.executionCtx.waitUntil(pool.renew());
  await pool.wait();
}
