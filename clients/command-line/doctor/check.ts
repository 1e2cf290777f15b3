/** A check is a row: what is asked, what can be wrong, and what to do about it. */
import type { PublishedConstraints } from "../../typescript/client.ts";
import type { AnswerFault, Exchange, Outcome } from "./answers.ts";
import type { Fault } from "./faults.ts";
import type { Server } from "./server.ts";

export interface NamedUrl {
  readonly name: string;
  readonly url: URL;
}

export interface ExaminationTarget {
  /** The URL of the edge; its path ends with a slash. */
  readonly url: URL;
  /** Empty if none is known, as the tokens below. */
  readonly token: string;
  /** Backends that this machine can reach. */
  readonly origins: readonly NamedUrl[];
  /** Authenticates this program to them. */
  readonly backendToken: string;
  /** Authenticates this program to `/metrics` of the edge. */
  readonly metricsToken: string;
  /** The path of Typst on this machine; undefined if it has to be searched for. */
  readonly typst: string | undefined;
}

export interface Examination {
  readonly target: ExaminationTarget;
  readonly edge: Server;
  /** What the edge publishes; set by the check `token`. */
  constraints: PublishedConstraints | null;
}

/** The constraints, for checks that need `token`. */
export function knownConstraints({ constraints }: Examination): PublishedConstraints {
  if (constraints === null) throw new Error("a check uses the constraints without needing the check `token`");
  return constraints;
}

/** Figures by names that carry their units. */
export type Measured = Readonly<Record<string, number>>;

/** What a check has found. From an exchange, which did not end as it should, the runner derives the fault. */
export type Finding<FaultId extends string = string> =
  | {
      readonly kind: "seen" | "skipped";
      readonly fault: FaultId | null;
      readonly seen: string;
      readonly measured: Measured;
    }
  | Exchange;

interface Row<Faults, FaultId extends string> {
  /** Ids of checks on which this one depends, in place of those of its group: unless all passed, it is skipped. */
  readonly needs?: readonly string[];
  readonly faults?: Faults;
  /** Outcomes of an exchange that show one of these faults, or one of `ANSWER_FAULTS` other than the usual one. */
  readonly outcomes?: Readonly<Partial<Record<Outcome, FaultId | AnswerFault>>>;
  run(server: Server, examination: Examination): Finding<FaultId> | Promise<Finding<FaultId>>;
}

export interface Check extends Row<Readonly<Record<string, Fault>>, string> {
  /** Never changed later: programs branch on it. */
  readonly id: string;
  readonly title: string;
}

export interface CheckGroup {
  readonly name: string;
  readonly needs: readonly string[];
  readonly checks: readonly Check[];
}

/** Makes a check. By its type it can find only its own faults and `ANSWER_FAULTS`. */
export function check<const Faults extends Readonly<Record<string, Fault>> = Record<never, never>>(
  id: string,
  title: string,
  row: Row<Faults, Extract<keyof Faults, string>>,
): Check {
  return { id, title, ...row };
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
