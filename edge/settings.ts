/**
 * The edge's settings: the only reader of the Worker's bindings. They are parsed once per isolate and frozen.
 */

import { type NamedToken, parseNamedTokens, parseTokens } from "../rules/http/authentication.ts";
import { LIMIT_SETTINGS, type Limits, limitsFrom } from "../rules/limits.ts";
import { BACKEND_TIMEOUT_SETTING, readRenderTime } from "../rules/render-time.ts";
import { type Environment, type IntegerSetting, readIntegerSettings, SettingError } from "../rules/settings.ts";
import { type AccessToken, type OriginAddress, parseOriginAddresses } from "./origins/origin-address.ts";

/** The edge's integer settings, without the limits. */
export const EDGE_INTEGER_SETTINGS = {
  backendTimeoutSeconds: BACKEND_TIMEOUT_SETTING,
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
  readonly backends: readonly OriginAddress[];
  /** Null if the backends are not behind Cloudflare Access. */
  readonly accessToken: AccessToken | null;
  readonly backendTimeoutSeconds: number;
  readonly bodyTimeoutSeconds: number;
  readonly limits: Limits;
}

/**
 * Reads the settings from the Worker's bindings: variables and secrets are strings, other bindings are skipped.
 *
 * @throws SettingError when a setting is not valid.
 */
export function readEdgeSettings(environment: Readonly<Record<string, unknown>>): EdgeSettings {
  const strings: Environment = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
  return Object.freeze({
    ...readIntegerSettings(EDGE_INTEGER_SETTINGS, strings),
    backendTimeoutSeconds: readRenderTime(strings).backendTimeoutSeconds,
    apiTokens: parseNamedTokens("SERVICE_API_TOKENS", strings.SERVICE_API_TOKENS),
    backendToken: parseTokens("SERVICE_BACKEND_TOKEN", strings.SERVICE_BACKEND_TOKEN)[0] ?? "",
    backends: parseOriginAddresses(strings.SERVICE_BACKEND_URLS),
    accessToken: readAccessToken(strings),
    limits: limitsFrom(readIntegerSettings(LIMIT_SETTINGS, strings)),
  });
}

function readAccessToken(environment: Environment): AccessToken | null {
  const { SERVICE_ACCESS_CLIENT_ID: clientId, SERVICE_ACCESS_CLIENT_SECRET: clientSecret } = environment;
  if (clientId && clientSecret) return { clientId, clientSecret };
  if (!clientId && !clientSecret) return null;
  throw new SettingError("SERVICE_ACCESS_CLIENT_ID and SERVICE_ACCESS_CLIENT_SECRET must be set together.");
}
