/** A check of the doctor: what is asked, what can be wrong, and what to do about it. */
import type { PublishedConstraints } from "../../typescript/client.ts";
import type { AnswerFault, Exchange, ExchangeCode } from "./answers.ts";
import type { Fault } from "./faults.ts";
import type { Server } from "./server.ts";

export interface NamedUrl {
  readonly name: string;
  readonly url: URL;
}

export interface ExaminationTarget {
  /** Its path ends with a slash. */
  readonly url: URL;
  /** Empty if none is known, as the other tokens. */
  readonly token: string;
  readonly origins: readonly NamedUrl[];
  readonly backendToken: string;
  readonly metricsToken: string;
  /** Undefined if it has to be searched for. */
  readonly typst: string | undefined;
}

export interface Examination {
  readonly target: ExaminationTarget;
  readonly edge: Server;
  /** Set by the check `token`. */
  constraints: PublishedConstraints | null;
}

/** For checks that need `token`. */
export function knownConstraints({ constraints }: Examination): PublishedConstraints {
  if (constraints === null) throw new Error("a check uses the constraints without needing the check `token`");
  return constraints;
}

/** Figures by names that carry their units. */
export type Measured = Readonly<Record<string, number>>;

/** From an exchange, which did not end as it should, the runner derives the fault. */
export type Observation<FaultId extends string = string> =
  | {
      readonly kind: "seen" | "skipped";
      readonly fault: FaultId | null;
      readonly seen: string;
      readonly measured: Measured;
    }
  | Exchange;

interface CheckDefinition<Faults, FaultId extends string> {
  /** Ids of checks in place of those of its group: unless all passed, this one is skipped. */
  readonly needs?: readonly string[];
  readonly faults?: Faults;
  /** Where an exchange shows one of these faults, or one of `ANSWER_FAULTS` other than the usual one. */
  readonly faultOfCode?: Readonly<Partial<Record<ExchangeCode, FaultId | AnswerFault>>>;
  run(server: Server, examination: Examination): Observation<FaultId> | Promise<Observation<FaultId>>;
}

export interface DoctorCheck extends CheckDefinition<Readonly<Record<string, Fault>>, string> {
  /** Never changed later: programs branch on it. */
  readonly id: string;
  readonly title: string;
}

export interface CheckGroup {
  readonly name: string;
  readonly needs: readonly string[];
  readonly checks: readonly DoctorCheck[];
}

/** By its type, a check can find only its own faults and `ANSWER_FAULTS`. */
export function defineCheck<const Faults extends Readonly<Record<string, Fault>> = Record<never, never>>(
  id: string,
  title: string,
  definition: CheckDefinition<Faults, Extract<keyof Faults, string>>,
): DoctorCheck {
  return { id, title, ...definition };
}

export function observe<const Id extends string>(
  fault: Id | null,
  seen: string,
  measured: Measured = {},
): Observation<Id> {
  return { kind: "seen", fault, seen, measured };
}

export function passCheck(seen: string, measured?: Measured): Observation<never> {
  return observe<never>(null, seen, measured);
}

export function skipCheck(why: string): Observation<never> {
  return { kind: "skipped", fault: null, seen: why, measured: {} };
}
