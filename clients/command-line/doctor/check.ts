/**
 * What a check is: a row of the table of checks, which says what is asked, what can be wrong, and what to do about it.
 */
import type { AnswerFault, Exchange, Outcome } from "./answers.ts";
import type { Examination } from "./examination.ts";
import type { Fault } from "./faults.ts";
import type { Server } from "./server.ts";

/** Figures by names that carry their units. */
export type Measured = Readonly<Record<string, number>>;

/**
 * What a check has found. If it is an exchange, that one did not end as it should, and the runner derives the fault
 * from it.
 */
export type Finding<FaultId extends string = string> =
  | {
      readonly kind: "seen" | "skipped";
      readonly fault: FaultId | null;
      readonly seen: string;
      readonly measured: Measured;
    }
  | Exchange;

interface Row<Faults, FaultId extends string> {
  /** Ids of checks on which this one depends: unless they all passed, it is skipped. */
  readonly needs?: readonly string[];
  readonly faults?: Faults;
  /** Outcomes of an exchange that show one of these faults, or one of `ANSWER_FAULTS` other than the usual one. */
  readonly outcomes?: Readonly<Partial<Record<Outcome, FaultId | AnswerFault>>>;
  run(
    server: Server,
    examination: Examination,
  ): Finding<FaultId | AnswerFault> | Promise<Finding<FaultId | AnswerFault>>;
}

export interface Check extends Required<Row<Readonly<Record<string, Fault>>, string>> {
  /** Never changed later: programs branch on it. */
  readonly id: string;
  /** What is asked, in a few words. */
  readonly title: string;
}

export interface CheckGroup {
  readonly name: string;
  readonly checks: readonly Check[];
}

/** Makes a check. By its type it can find only its own faults and `ANSWER_FAULTS`. */
export function check<const Faults extends Readonly<Record<string, Fault>> = Record<never, never>>(
  id: string,
  title: string,
  row: Row<Faults, Extract<keyof Faults, string>>,
): Check {
  const { needs = [], faults = {}, outcomes = {} } = row;
  return { ...row, id, title, needs, faults, outcomes };
}

/** @param needed the check on which all depend that name none themselves */
export function group(name: string, needed: string | null, checks: readonly Check[]): CheckGroup {
  const needs = needed === null ? [] : [needed];
  return { name, checks: checks.map((row) => (row.needs.length > 0 ? row : { ...row, needs })) };
}

export function found<const Id extends string>(fault: Id | null, seen: string, measured: Measured = {}): Finding<Id> {
  return { kind: "seen", fault, seen, measured };
}

export function ok(seen: string, measured?: Measured): Finding<never> {
  return found<never>(null, seen, measured);
}

export function skipped(why: string): Finding<never> {
  return { kind: "skipped", fault: null, seen: why, measured: {} };
}
