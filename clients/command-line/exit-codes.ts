/** An exit code for each origin of a problem (docs/command-line.md), so that a script need not read text. */
import { PROBLEM_ORIGINS, type ProblemOrigin } from "../../rules/problem.ts";

export const EXIT_CODES = {
  success: 0,
  /** Also: `doctor` found something wrong. */
  failure: 1,
  usage: 2,
  request: 3,
  template: 4,
  capacity: 5,
  service: 6,
  unreachable: 7,
  /** `--each`: some documents could not be made; the summary names each. */
  incomplete: 8,
  interrupted: 130,
} as const satisfies Record<ProblemOrigin, number> & Record<string, number>;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** The exit code of a problem. Codes that are added later have one of the existing origins (docs/api.md). */
export function exitCodeOf(problem: { readonly origin: string }): ExitCode {
  return isOrigin(problem.origin) ? EXIT_CODES[problem.origin] : EXIT_CODES.service;
}

function isOrigin(value: string): value is ProblemOrigin {
  return Object.hasOwn(PROBLEM_ORIGINS, value);
}

/** Ends the command with a message for people. Not a bug: the caller or the network is at fault. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;
  /** Further members of the outcome that `--json` prints. */
  readonly details: object;

  constructor(message: string, exitCode: ExitCode = EXIT_CODES.usage, details: object = {}) {
    super(message);
    this.exitCode = exitCode;
    this.details = details;
  }
}
