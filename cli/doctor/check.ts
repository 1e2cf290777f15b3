/**
 * What a check is: a value that says what it looks at, which faults it can find, and how it looks.
 *
 * Causes and advice are constants of each fault, so that docs/doctor.md lists all of them and programs can branch on ids.
 * What was seen is the only text that depends on the deployment.
 */
import type { AnswerFault } from "./answer-faults.ts";
import type { Examination, OriginUnderTest } from "./examination.ts";

/** Only `failure` makes the command fail. */
export type Status = "ok" | "warning" | "failure" | "skipped";

export interface Fault {
  readonly severity: "failure" | "warning";
  /** The likely cause, in one sentence. */
  readonly cause: string;
  /** What to do about it, in one sentence. */
  readonly advice: string;
}

/** Figures by names that carry their units. */
export type Measured = Readonly<Record<string, number>>;

export type Verdict<FaultId extends string = string> =
  | { readonly kind: "ok"; readonly seen: string; readonly measured?: Measured }
  | { readonly kind: "fault"; readonly fault: FaultId; readonly seen: string; readonly measured?: Measured }
  | { readonly kind: "skipped"; readonly seen: string };

interface CheckDescription {
  /** Never changed later: programs branch on it. */
  readonly id: string;
  readonly title: string;
  /** For docs/doctor.md. */
  readonly looksAt: string;
  /** Checks without which this one makes no sense: unless they are all well, it is skipped. */
  readonly needs: readonly string[];
  readonly faults: Readonly<Record<string, Fault>>;
}

/** A check of the whole deployment, or one that is made at each origin that the caller names. */
export type Check = CheckDescription &
  (
    | { readonly at: "deployment"; run(examination: Examination): Promise<Verdict> }
    | { readonly at: "origin"; run(examination: Examination, origin: OriginUnderTest): Promise<Verdict> }
  );

export interface CheckGroup {
  readonly name: string;
  readonly checks: readonly Check[];
}

type FaultsOf<Faults> = Extract<keyof Faults, string> | AnswerFault;
type Description<Faults> = Omit<CheckDescription, "faults"> & { readonly faults: Faults };

/** A check of the deployment, which can only find its own faults and those of any answer. */
export function deploymentCheck<const Faults extends Readonly<Record<string, Fault>>>(
  check: Description<Faults> & { run(examination: Examination): Promise<Verdict<FaultsOf<Faults>>> },
): Check {
  return { ...check, at: "deployment" };
}

/** The same at one origin. */
export function originCheck<const Faults extends Readonly<Record<string, Fault>>>(
  check: Description<Faults> & {
    run(examination: Examination, origin: OriginUnderTest): Promise<Verdict<FaultsOf<Faults>>>;
  },
): Check {
  return { ...check, at: "origin" };
}

export function ok(seen: string, measured?: Measured): Verdict<never> {
  return { kind: "ok", seen, ...(measured !== undefined && { measured }) };
}

export function found<const FaultId extends string>(
  fault: FaultId,
  seen: string,
  measured?: Measured,
): Verdict<FaultId> {
  return { kind: "fault", fault, seen, ...(measured !== undefined && { measured }) };
}

export function skipped(why: string): Verdict<never> {
  return { kind: "skipped", seen: why };
}
