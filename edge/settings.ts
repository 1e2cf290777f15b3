/**
 * The edge's settings: the one place where the Worker's bindings are read. Parsed and frozen here, once an isolate.
 */

import { type NamedToken, parseNamedTokens, parseTokens } from "../rules/http/tokens.ts";
import { LIMIT_SETTINGS, type Limits, limitsFrom } from "../rules/limits.ts";
import { readIntegerSettings, SettingError } from "../rules/settings.ts";
import { EDGE_INTEGER_SETTINGS } from "./integer-settings.ts";

export interface EdgeSettings {
  readonly apiTokens: readonly NamedToken[];
  /** Shown to the backend; empty where none is configured, and then every render is answered 503. */
  readonly backendToken: string;
  readonly backendUrls: readonly URL[];
  readonly backendTimeoutSeconds: number;
  readonly bodyTimeoutSeconds: number;
  readonly limits: Limits;
}

/**
 * Reads the settings from the Worker's bindings: variables and secrets, which are strings. Other bindings are passed over.
 *
 * @throws SettingError where one cannot be used.
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
