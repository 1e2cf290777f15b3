/** Writes a line to the log of the platform, in the form that the deployment wants. */
import type { LogLevel, Platform } from "../platform/platform.ts";
import type { RequestLogging } from "../settings.ts";

export function writeLine(platform: Platform, logging: RequestLogging, level: LogLevel, line: object): void {
  platform.writeLog(level, logging === "json" ? JSON.stringify(line) : line);
}
