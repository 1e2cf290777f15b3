/**
 * The edge's settings: the only reader of the Worker's bindings. They are parsed once per isolate and frozen.
 */

import { type NamedToken, parseNamedTokens, parseTokens } from "../rules/http/authentication.ts";
import { LIMIT_SETTINGS, type Limits, limitsFrom } from "../rules/limits.ts";
import { type IntegerSetting, readIntegerSettings, SettingError } from "../rules/settings.ts";

/** The edge's integer settings, without the limits. */
export const EDGE_INTEGER_SETTINGS = {
  // Longer than the backend's queue deadline and render timeout together (20 s + 30 s by default), so the backend, which
  // knows the cause, reports it.
  backendTimeoutSeconds: {
    setting: "SERVICE_BACKEND_TIMEOUT_SECONDS",
    default: 60,
    min: 1,
    max: 900,
    meaning: "how long the edge waits for a backend's answer",
  },
  bodyTimeoutSeconds: {
    setting: "SERVICE_BODY_TIMEOUT_SECONDS",
    default: 60,
    min: 1,
    max: 900,
    meaning: "how long the body of a request may take to arrive; ten seconds without a byte end it earlier",
  },
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

export interface EdgeSettings {
  readonly apiTokens: readonly NamedToken[];
  /** Authenticates the edge to the backend. Empty if the deployment has no token configured: every render is then answered 503. */
  readonly backendToken: string;
  readonly backendUrls: readonly URL[];
  readonly backendTimeoutSeconds: number;
  readonly bodyTimeoutSeconds: number;
  readonly limits: Limits;
  readonly logRequests: RequestLogging;
}

const REQUEST_LOGGINGS = ["object", "json", "none"] as const;

/**
 * How each request is logged: as an object, whose fields Workers Logs indexes; as a line of JSON, for a workerd whose output
 * is read line by line; or not at all.
 */
export type RequestLogging = (typeof REQUEST_LOGGINGS)[number];

/**
 * Reads the settings from the Worker's bindings: variables and secrets are strings, other bindings are skipped.
 *
 * @throws SettingError when a setting is not valid.
 */
export function readEdgeSettings(environment: Readonly<Record<string, unknown>>): EdgeSettings {
  const strings = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
  return Object.freeze({
    ...readIntegerSettings(EDGE_INTEGER_SETTINGS, strings),
    apiTokens: parseNamedTokens("SERVICE_API_TOKENS", strings.SERVICE_API_TOKENS),
    backendToken: parseTokens("SERVICE_BACKEND_TOKEN", strings.SERVICE_BACKEND_TOKEN)[0] ?? "",
    backendUrls: readUrls(strings.SERVICE_BACKEND_URLS ?? ""),
    limits: limitsFrom(readIntegerSettings(LIMIT_SETTINGS, strings)),
    logRequests: readLogRequests(strings.SERVICE_LOG_REQUESTS),
  });
}

function readUrls(text: string): URL[] {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== "")
    .map((part) => {
      const url = URL.canParse(part) ? new URL(part) : null;
      if (url?.protocol === "http:" || url?.protocol === "https:") return url;
      throw new SettingError("SERVICE_BACKEND_URLS must hold http or https URLs, separated by spaces.");
    });
}

/** @throws SettingError */
export function readLogRequests(text: string | undefined): RequestLogging {
  const logging = REQUEST_LOGGINGS.find((known) => known === (text || "object"));
  if (logging !== undefined) return logging;
  throw new SettingError(`SERVICE_LOG_REQUESTS must be one of ${REQUEST_LOGGINGS.join(", ")}.`);
}
