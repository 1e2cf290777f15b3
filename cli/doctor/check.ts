/**
 * What a check is: a row of the table of checks, which says what is asked, what can be wrong, and what to do about it.
 */
import type { ProblemCode } from "../../rules/problem.ts";
import type { AnswerFault, Exchange } from "./answers.ts";
import type { Examination } from "./examination.ts";
import type { Fault } from "./faults.ts";
import type { Server } from "./server.ts";

/** Figures by names that carry their units. */
export type Measured = Readonly<Record<string, number>>;

/** What a check has found. An exchange is one that did not end as it should: the runner knows what that means. */
export type Finding<FaultId extends string = string> =
  | { readonly kind: "seen"; readonly fault: FaultId | null; readonly seen: string; readonly measured: Measured }
  | { readonly kind: "skipped"; readonly seen: string }
  | Exchange;

interface Row<Faults, FaultId extends string> {
  readonly title: string;
  /** For docs/doctor.md. */
  readonly looksAt: string;
  /** Checks without which this one makes no sense: unless they all passed, it is skipped. */
  readonly needs?: readonly string[];
  readonly faults?: Faults;
  /** The outcomes of an exchange that show one of these faults. All others are told by `ANSWER_FAULTS`. */
  readonly outcomes?: Readonly<Partial<Record<ProblemCode | "200" | "timed-out", FaultId>>>;
  run(
    server: Server,
    examination: Examination,
  ): Finding<FaultId | AnswerFault> | Promise<Finding<FaultId | AnswerFault>>;
}

export interface Check extends Required<Row<Readonly<Record<string, Fault>>, string>> {
  /** Never changed later: programs branch on it. */
  readonly id: string;
}

/** A check, which can find only its own faults and those of any answer. */
export function check<const Faults extends Readonly<Record<string, Fault>> = Record<never, never>>(
  id: string,
  row: Row<Faults, Extract<keyof Faults, string>>,
): Check {
  const { faults = {}, needs = [], outcomes = {} } = row;
  return { ...row, id, needs, faults, outcomes };
}

export interface CheckGroup {
  readonly name: string;
  /** Whether its checks are made at each origin that is named, in place of the edge. */
  readonly isForOrigins: boolean;
  readonly checks: readonly Check[];
}

export function group(name: string, checks: readonly Check[], isForOrigins = false): CheckGroup {
  return { name, isForOrigins, checks };
}

/** Found what is wrong, or that nothing is. */
export function found<const FaultId extends string>(
  fault: FaultId | null,
  seen: string,
  measured: Measured = {},
): Finding<FaultId> {
  return { kind: "seen", fault, seen, measured };
}

export function ok(seen: string, measured: Measured = {}): Finding<never> {
  return { kind: "seen", fault: null, seen, measured };
}

export function skipped(why: string): Finding<never> {
  return { kind: "skipped", seen: why };
}
