/**
 * The report of the doctor: lines for people as the checks are made, and one object for programs at the end.
 */
import { styleText } from "node:util";
import { printableLine } from "../terminal.ts";
import type { CheckResult, ExaminationReport } from "./runner.ts";

/** Wide enough for every title. */
const TITLE_WIDTH = 48;

const MARKS = {
  ok: { mark: "✓", color: "green" },
  warning: { mark: "!", color: "yellow" },
  failure: { mark: "✗", color: "red" },
  skipped: { mark: "–", color: "gray" },
} as const satisfies Record<CheckResult["status"], object>;

/** Writes results to standard output as they come: a title for each group or origin, and a line or three for each check. */
export class Table {
  readonly #isQuiet: boolean;
  #heading = "";

  /** @param isQuiet leaves out what is well or was skipped */
  constructor(isQuiet: boolean) {
    this.#isQuiet = isQuiet;
  }

  add({ group, origin, title, status, seen, cause, advice }: CheckResult): void {
    if (this.#isQuiet && (status === "ok" || status === "skipped")) return;
    const heading = origin === null ? group : `${group}: ${origin}`;
    if (heading !== this.#heading) {
      this.#heading = heading;
      process.stdout.write(`\n${styleText("bold", printableLine(heading))}\n`);
    }
    const { mark, color } = MARKS[status];
    process.stdout.write(`${styleText(color, mark)} ${title.padEnd(TITLE_WIDTH)} ${printableLine(seen)}\n`);
    if (cause !== null) process.stdout.write(`    likely cause: ${printableLine(cause)}\n`);
    if (advice !== null) process.stdout.write(`    what to do:   ${printableLine(advice)}\n`);
  }
}

/** The last line of the table. */
export function summaryInWords({ checks, requests, seconds }: ExaminationReport): string {
  const counts = countByStatus(checks);
  const numbers = [
    `${counts.ok} passed`,
    `${counts.warning} ${counts.warning === 1 ? "warning" : "warnings"}`,
    `${counts.failure} ${counts.failure === 1 ? "failure" : "failures"}`,
    `${counts.skipped} skipped`,
  ];
  return `${numbers.join(", ")}; ${requests} requests in ${seconds.toFixed(1)} s`;
}

/** What `--json` prints. Its members are described in docs/doctor.md; further ones may be added. */
export function reportForPrograms(url: string, { checks, requests, seconds }: ExaminationReport): object {
  return {
    outcome: "examined",
    url,
    healthy: isHealthy(checks),
    counts: countByStatus(checks),
    requests,
    seconds: Math.round(seconds * 1000) / 1000,
    checks,
  };
}

/** Nothing has failed, and it was not only skipped: without the check of the token, hardly anything has been looked at. */
export function isHealthy(checks: readonly CheckResult[]): boolean {
  const isLookedAt = checks.some(({ id, status }) => id === "token" && status === "ok");
  return isLookedAt && checks.every(({ status }) => status !== "failure");
}

function countByStatus(checks: readonly CheckResult[]): Record<CheckResult["status"], number> {
  const counts: Record<CheckResult["status"], number> = { ok: 0, warning: 0, failure: 0, skipped: 0 };
  for (const { status } of checks) counts[status]++;
  return counts;
}
