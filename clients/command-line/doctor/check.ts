/** A check of the doctor: what is asked, what can be wrong, and what to do about it. */
import type { PublishedConstraints } from "../../typescript/client.ts";
import type { Exchange, ExchangeCode } from "./answers.ts";
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
export type Observation =
  | {
      readonly kind: "seen" | "skipped";
      readonly fault: string | null;
      readonly seen: string;
      readonly measured: Measured;
    }
  | Exchange;

interface CheckDefinition {
  /** Ids of checks in place of those of its group: unless all passed, this one is skipped. */
  readonly needs?: readonly string[];
  /** Those of its own; every check can also find `ANSWER_FAULTS`. */
  readonly faults?: Readonly<Record<string, Fault>>;
  /** Where an exchange shows one of these faults, or one of `ANSWER_FAULTS` other than the usual one. */
  readonly faultOfCode?: Readonly<Partial<Record<ExchangeCode, string>>>;
  run(server: Server, examination: Examination): Observation | Promise<Observation>;
}

export interface DoctorCheck extends CheckDefinition {
  /** Never changed later: programs branch on it. */
  readonly id: string;
  readonly title: string;
}

export interface CheckGroup {
  readonly name: string;
  readonly needs: readonly string[];
  readonly checks: readonly DoctorCheck[];
}

export function defineCheck(id: string, title: string, definition: CheckDefinition): DoctorCheck {
  return { id, title, ...definition };
}

/** @param fault null if the check has passed */
export function observe(fault: string | null, seen: string, measured: Measured = {}): Observation {
  return { kind: "seen", fault, seen, measured };
}

export function skipCheck(why: string): Observation {
  return { kind: "skipped", fault: null, seen: why, measured: {} };
}
