/** The report of the doctor: lines for people as the checks are made, and one object for programs at the end. */
import { styleText } from "node:util";
import { printableLine } from "../terminal.ts";
import type { CheckReport, ExaminationReport } from "./runner.ts";

/** Wide enough for every title. */
const TITLE_WIDTH = 56;

const MARKS = {
  ok: { mark: "✓", color: "green" },
  warning: { mark: "!", color: "yellow" },
  failure: { mark: "✗", color: "red" },
  skipped: { mark: "–", color: "gray" },
} as const satisfies Record<CheckReport["status"], object>;

/** Writes results as they come. @param isQuiet leaves out checks that passed or were skipped */
export function startTable(isQuiet: boolean): (result: CheckReport) => void {
  let lastHeading = "";
  return ({ group, origin, title, status, seen, cause, advice }) => {
    if (isQuiet && (status === "ok" || status === "skipped")) return;
    const heading = origin === null ? group : `${group}: ${origin}`;
    if (heading !== lastHeading) process.stdout.write(`\n${styleText("bold", printableLine(heading))}\n`);
    lastHeading = heading;
    const { mark, color } = MARKS[status];
    process.stdout.write(`${styleText(color, mark)} ${title.padEnd(TITLE_WIDTH)} ${printableLine(seen)}\n`);
    if (cause !== null) process.stdout.write(`    likely cause: ${cause}\n    what to do:   ${advice}\n`);
  };
}

export function summaryInWords({ checks, requests, seconds }: ExaminationReport): string {
  const { ok, warning, failure, skipped } = countByStatus(checks);
  const time = `${requests} requests in ${seconds.toFixed(1)} s`;
  return `${ok} passed, ${warning} warned, ${failure} failed, ${skipped} skipped; ${time}`;
}

/** What `--json` prints. Its members are described in docs/doctor.md; further ones may be added. */
export function reportForPrograms(url: string, { checks, requests, seconds }: ExaminationReport): object {
  const counts = countByStatus(checks);
  const rounded = Math.round(seconds * 1000) / 1000;
  return { outcome: "examined", url, healthy: isHealthy(checks), counts, requests, seconds: rounded, checks };
}

/** Whether no check failed and the token was accepted: without a token, most checks are skipped. */
export function isHealthy(checks: readonly CheckReport[]): boolean {
  const isLookedAt = checks.some(({ id, status }) => id === "token" && status === "ok");
  return isLookedAt && checks.every(({ status }) => status !== "failure");
}

function countByStatus(checks: readonly CheckReport[]): Record<CheckReport["status"], number> {
  const counts: Record<CheckReport["status"], number> = { ok: 0, warning: 0, failure: 0, skipped: 0 };
  for (const { status } of checks) counts[status]++;
  return counts;
}
