/** The edge's settings: the only reader of the Worker's bindings. They are parsed once per isolate and frozen. */
import { type NamedToken, parseNamedTokens, parseTokens } from "../protocol/authentication.ts";
import { LIMIT_SETTINGS, type Limits, limitsFrom } from "../rules/limits.ts";
import { BACKEND_TIMEOUT_SETTING, type RenderTime, readRenderTime } from "../rules/render-time.ts";
import {
  type Environment,
  type IntegerSetting,
  listEntries,
  readIntegerSettings,
  SettingError,
} from "../rules/settings.ts";
import {
  type AccessToken,
  accessTokenFor,
  type BackendSources,
  parseBackendSources,
} from "./backends/backend-address.ts";

export const EDGE_INTEGER_SETTINGS = {
  backendTimeoutSeconds: BACKEND_TIMEOUT_SETTING,
  bodyTimeoutSeconds: {
    setting: "SERVICE_BODY_TIMEOUT_SECONDS",
    default: 60,
    min: 1,
    max: 900,
    meaning: "how long the body of a request may take to arrive; ten seconds without a byte end it earlier",
  },
  maxOpenRenders: {
    setting: "SERVICE_MAX_OPEN_RENDERS",
    default: 4096,
    min: 1,
    max: 65_536,
    meaning:
      "renders under way in an isolate, from their upload until an answer begins; one caller alone may have half. The limit on open files lowers it for an edge alone",
  },
  rateLimitPeriodSeconds: {
    setting: "SERVICE_RATE_LIMIT_PERIOD_SECONDS",
    default: 10,
    min: 1,
    max: 60,
    meaning: "`period` of the binding `CALLER_RATE_LIMITER`, if there is one: what `Retry-After` says",
  },
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

export type MetricsAccess =
  | { readonly kind: "open" }
  /** Clients that send one of these tokens, of which there is at least one. */
  | { readonly kind: "token"; readonly tokens: readonly string[] }
  /** The path returns 404, like any unknown path. */
  | { readonly kind: "off" };

/** The origins whose pages may read answers (CORS): `*` for all, an empty list for none. */
export type CorsOrigins = "*" | readonly string[];

export interface EdgeSettings extends RenderTime, Readonly<Record<keyof typeof EDGE_INTEGER_SETTINGS, number>> {
  readonly apiTokens: readonly NamedToken[];
  /** The edge's own, for backends. Empty if none is configured: every render then gets 503. */
  readonly backendToken: string;
  readonly backends: BackendSources;
  readonly nameServers: readonly string[];
  readonly accessToken: AccessToken | null;
  readonly metricsAccess: MetricsAccess;
  readonly corsOrigins: CorsOrigins;
  /** The names under which the service is served, as `URL` writes them; none for any. */
  readonly hosts: readonly string[];
  /** Whom to tell of a flaw, as URIs, the first one preferred; none for no `security.txt`. */
  readonly securityContacts: readonly string[];
  readonly limits: Limits;
  readonly logRequests: RequestLogging;
}

const REQUEST_LOGGINGS = ["object", "json", "none"] as const;

/** As an object, whose fields Workers Logs indexes; as JSON, where output is read by lines; or not at all. */
export type RequestLogging = (typeof REQUEST_LOGGINGS)[number];

const VISIBLE_ASCII = /^[!-~]+$/;

/** Of the Worker's bindings, those that are texts, or numbers of wrangler's configuration. @throws SettingError */
export function readEdgeSettings(environment: Readonly<Record<string, unknown>>): EdgeSettings {
  const strings: Environment = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [],
    ),
  );
  const backends = parseBackendSources(strings.SERVICE_BACKEND_URLS);
  return Object.freeze({
    ...readIntegerSettings(EDGE_INTEGER_SETTINGS, strings),
    ...readRenderTime(strings),
    apiTokens: parseNamedTokens("SERVICE_API_TOKENS", strings.SERVICE_API_TOKENS),
    backendToken: parseTokens("SERVICE_BACKEND_TOKEN", strings.SERVICE_BACKEND_TOKEN)[0] ?? "",
    backends,
    nameServers: listEntries(strings.SERVICE_DNS_SERVERS),
    accessToken: readAccessToken(strings, backends),
    metricsAccess: readMetricsAccess(strings),
    corsOrigins: readCorsOrigins(strings),
    hosts: readHosts(strings),
    securityContacts: readSecurityContacts(strings),
    limits: limitsFrom(readIntegerSettings(LIMIT_SETTINGS, strings)),
    logRequests: readLogRequests(strings.SERVICE_LOG_REQUESTS),
  });
}

/**
 * @throws SettingError when one is set without the other, or cannot be sent in a header field, or would be sent nowhere;
 *   it quotes neither.
 */
function readAccessToken(
  { SERVICE_ACCESS_CLIENT_ID, SERVICE_ACCESS_CLIENT_SECRET }: Environment,
  { addresses, services }: BackendSources,
): AccessToken | null {
  const clientId = SERVICE_ACCESS_CLIENT_ID?.trim() ?? "";
  const clientSecret = SERVICE_ACCESS_CLIENT_SECRET?.trim() ?? "";
  if (clientId === "" && clientSecret === "") return null;
  if (!(VISIBLE_ASCII.test(clientId) && VISIBLE_ASCII.test(clientSecret))) {
    throw new SettingError(
      "SERVICE_ACCESS_CLIENT_ID and SERVICE_ACCESS_CLIENT_SECRET must be set together, in visible ASCII characters.",
    );
  }
  const accessToken = { clientId, clientSecret };
  const isSent = addresses.some((address) => accessTokenFor(address, { accessToken }) !== null);
  const urls = addresses.filter(({ kind }) => kind === "url").length + services.length;
  if (isSent || urls === 0) return accessToken;
  throw new SettingError(
    "SERVICE_ACCESS_CLIENT_ID is set, but SERVICE_BACKEND_URLS lists no https: URL: the token of Access goes to no http: address and to none from DNS.",
  );
}

/** @throws SettingError when the setting has another value, or requires a token and there is none. */
export function readMetricsAccess({ SERVICE_METRICS_ACCESS, SERVICE_METRICS_TOKENS }: Environment): MetricsAccess {
  const tokens = parseTokens("SERVICE_METRICS_TOKENS", SERVICE_METRICS_TOKENS);
  const kind = SERVICE_METRICS_ACCESS?.trim() || (tokens.length > 0 ? "token" : "open");
  switch (kind) {
    case "open":
    case "off":
      return { kind };
    case "token":
      if (tokens.length > 0) return { kind, tokens };
      throw new SettingError("SERVICE_METRICS_TOKENS must hold a token when SERVICE_METRICS_ACCESS is token.");
    default:
      throw new SettingError("SERVICE_METRICS_ACCESS must be one of open, token, off.");
  }
}

/** Only origins in the form that browsers send: any other would silently allow nothing. @throws SettingError */
export function readCorsOrigins({ SERVICE_CORS_ORIGINS }: Environment): CorsOrigins {
  const entries = listEntries(SERVICE_CORS_ORIGINS);
  if (entries.length === 1 && entries[0] === "*") return "*";
  const wrong = entries.find((entry) => !isWebOrigin(entry));
  if (wrong === undefined) return entries;
  throw new SettingError(
    `SERVICE_CORS_ORIGINS must hold origins as browsers send them (https://app.example: no path, no default port, lower case), separated by spaces or commas, or * alone; "${wrong}" is not one.`,
  );
}

export function readHosts({ SERVICE_HOSTS }: Environment): readonly string[] {
  const entries = listEntries(SERVICE_HOSTS);
  const wrong = entries.find((entry) => {
    const url = `http://${entry}/`;
    return entry.includes("*") || !URL.canParse(url) || new URL(url).hostname !== entry;
  });
  if (wrong === undefined) return entries;
  throw new SettingError(
    `SERVICE_HOSTS must hold host names or addresses (render.example, [::1]: no scheme, no port, lower case), separated by spaces or commas; "${wrong}" is not one.`,
  );
}

const CONTACT = /^(?:mailto:[^@]+@[^@]+|https:\/\/.+|tel:\+.+)$/;

/** RFC 9116, section 2.5.3: URIs, and those of the Web by https. @throws SettingError */
export function readSecurityContacts({ SERVICE_SECURITY_CONTACT }: Environment): readonly string[] {
  const entries = listEntries(SERVICE_SECURITY_CONTACT);
  const wrong = entries.find((entry) => !(CONTACT.test(entry) && VISIBLE_ASCII.test(entry) && URL.canParse(entry)));
  if (wrong === undefined) return entries;
  throw new SettingError(
    `SERVICE_SECURITY_CONTACT must hold addresses such as mailto:security@render.example, https://render.example/security or tel:+1-201-555-0123, separated by spaces or commas; "${wrong}" is not one.`,
  );
}

function isWebOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

export function readLogRequests(text: string | undefined): RequestLogging {
  const logging = REQUEST_LOGGINGS.find((known) => known === (text || "object"));
  if (logging !== undefined) return logging;
  throw new SettingError(`SERVICE_LOG_REQUESTS must be one of ${REQUEST_LOGGINGS.join(", ")}.`);
}
