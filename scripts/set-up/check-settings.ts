/** Prints one line for each setting that is not valid. The set-up runs it before there are npm packages. */

import { readBackendSettings } from "../../backend/settings.ts";
import { NODE_EDGE_INTEGER_SETTINGS } from "../../edge/platform/node/settings.ts";
import {
  EDGE_INTEGER_SETTINGS,
  readCorsOrigins,
  readHosts,
  readLogRequests,
  readMetricsAccess,
} from "../../edge/settings.ts";
import { parseNamedTokens } from "../../protocol/authentication.ts";
import { readIntegerSettings, SettingError } from "../../rules/settings.ts";

const READERS: readonly (() => unknown)[] = [
  () => readBackendSettings(process.env),
  () => readIntegerSettings(EDGE_INTEGER_SETTINGS, process.env),
  () => readIntegerSettings(NODE_EDGE_INTEGER_SETTINGS, process.env),
  () => readLogRequests(process.env.SERVICE_LOG_REQUESTS),
  () => parseNamedTokens("SERVICE_API_TOKENS", process.env.SERVICE_API_TOKENS),
  () => readMetricsAccess(process.env),
  () => readCorsOrigins(process.env),
  () => readHosts(process.env),
];

for (const read of READERS) {
  try {
    read();
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    process.stdout.write(`${error.message}\n`);
  }
}
