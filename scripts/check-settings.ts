/**
 * Prints a line for each of the service's settings that cannot be used, and nothing where all can: for the set-up, before
 * it begins what takes minutes. It needs no packages.
 */
import { readBackendSettings } from "../backend/settings.ts";
import { EDGE_INTEGER_SETTINGS } from "../edge/settings.ts";
import { parseNamedTokens } from "../rules/http/authentication.ts";
import { readIntegerSettings, SettingError } from "../rules/settings.ts";
import { START_INTEGER_SETTINGS } from "./start-settings.ts";

const READERS: readonly (() => unknown)[] = [
  () => readBackendSettings(process.env),
  () => readIntegerSettings(EDGE_INTEGER_SETTINGS, process.env),
  () => readIntegerSettings(START_INTEGER_SETTINGS, process.env),
  () => parseNamedTokens("SERVICE_API_TOKENS", process.env.SERVICE_API_TOKENS),
];

for (const read of READERS) {
  try {
    read();
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    process.stdout.write(`${error.message}\n`);
  }
}
