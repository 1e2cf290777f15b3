/** Writes a line of the edge's log in the form that the settings ask for. */
import type { RequestLogging } from "../settings.ts";

export function writeLine(logging: RequestLogging, level: "error" | "warn" | "info" | "log", line: object): void {
  console[level](logging === "json" ? JSON.stringify(line) : line);
}
