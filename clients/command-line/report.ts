/**
 * How the command reports: sentences on standard error for people, JSON for programs. With `--json`, each outcome is
 * one object on a line of standard output, or of standard error if the document itself goes to standard output.
 */
import { styleText } from "node:util";
import { PROBLEM_ORIGINS } from "../../rules/problem.ts";
import { adviceFor } from "../document/problem-advice.ts";
import type { RejectedRender, RetryEvent, ServiceProblem } from "../typescript/client.ts";
import { type CommandError, type ExitCode, exitCodeOf } from "./exit-codes.ts";
import { printable, printableLine } from "./terminal.ts";

/** A problem in lines for people: what it is, where, and what to do about it. @param more lines about it */
export function problemInWords(problem: ServiceProblem, checkedLocally: boolean, more: readonly string[] = []): string {
  const lines = [
    `${problem.code}: ${problem.detail}`,
    ...[...placesOf(problem), ...more].map((line) => `  ${line}`),
    `  ${adviceOnTheCommandLine(problem)}`,
    ...(checkedLocally ? ["  Nothing was sent: the published rules reject it."] : []),
    ...(problem.requestId === null ? [] : [`  The id of the request is ${problem.requestId}.`]),
  ];
  return lines.map(printableLine).join("\n");
}

/** Reports a problem to people, or as JSON to a stream. @returns the exit code */
export function reportProblem(
  { problem, checkedLocally }: Omit<RejectedRender, "ok">,
  details: readonly string[],
  jsonStream: NodeJS.WriteStream | null,
): ExitCode {
  if (jsonStream !== null) writeJson(problemOutcome(problem, checkedLocally, details), jsonStream);
  else {
    const bold = (code: string) => styleText(["bold", "red"], code, { stream: process.stderr });
    process.stderr.write(`${problemInWords(problem, checkedLocally, details).replace(/^[^:]*:/, bold)}\n`);
  }
  return exitCodeOf(problem);
}

function placesOf({ context }: ServiceProblem): string[] {
  const lines: string[] = [];
  if ("errors" in context && context.errors !== undefined) {
    const errors = context.errors.map(({ loc, msg }) => `${loc.join(".") || "the request"}: ${msg}`);
    for (const error of new Set(errors)) {
      const count = errors.filter((other) => other === error).length;
      lines.push(count === 1 ? error : `${error} (${count} times)`);
    }
    if (context.errors_total !== undefined) lines.push(`… ${context.errors_total} errors in total.`);
  }
  if ("path" in context) lines.push(`at data.${context.path.join(".")}, in the ${context.subject}`);
  if ("rule" in context && context.rule !== undefined) lines.push(`rule: ${context.rule}`);
  return lines;
}

function adviceOnTheCommandLine(problem: ServiceProblem): string {
  switch (problem.code) {
    case "forbidden":
      return "Set SERVICE_API_TOKEN, or pass a file with --token-file.";
    case "template_compile_failed":
      return "The service never returns Typst's messages; run `check` to see them.";
    case "invalid_file_data":
      if ("count" in problem.context) {
        return "Send fewer files: leave out of --files and of the folder what the document does not read, or put small SVG files into one source file.";
      }
      return adviceFor(problem.code) ?? "";
    default:
      return adviceFor(problem.code) ?? PROBLEM_ORIGINS[problem.origin] ?? "";
  }
}

export function retryInWords({ reason, waitSeconds }: RetryEvent): string {
  const cause = "code" in reason ? "The service is busy" : "The service cannot be reached";
  return `${cause}: retrying in ${Math.ceil(waitSeconds)} s`;
}

/** What `--json` prints of a problem. @param details what this program adds: the largest files, better names */
export function problemOutcome(
  problem: ServiceProblem,
  checkedLocally: boolean,
  details: readonly string[] = [],
): object {
  const outcome = { outcome: "problem", exitCode: exitCodeOf(problem), checkedLocally, problem };
  return details.length === 0 ? outcome : { ...outcome, details };
}

export function failedOutcome({ exitCode, message, details }: CommandError): object {
  return { outcome: "failed", exitCode, message, ...details };
}

export function writeJson(value: object, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(`${printable(JSON.stringify(value))}\n`);
}
