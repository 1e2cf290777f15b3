/**
 * A Stryker plugin for `npm run mutation`: leaves out changes outside the chosen files or the random sample.
 */
import { createHash } from "node:crypto";
import { relative } from "node:path";

export const CHOICE_NAME = "choice";
/** The environment variable that passes the choice to Stryker's processes. */
export const CHOICE_VARIABLE = "MUTATION_CHOICE";
/** Stryker records this status for a change that is left out. Changes are never compiled, so it has no other cause. */
export const NOT_CHOSEN_STATUS = "CompileError";

interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
  readonly replacement: string;
}

interface Choice {
  readonly percent: number;
  /** A different seed draws a different sample. */
  readonly seed: string;
  /** The beginnings of the chosen paths; empty for all. */
  readonly chosen: readonly string[];
}

function isChosen({ fileName, location, replacement }: Mutant, { percent, seed, chosen }: Choice): boolean {
  const file = relative(process.cwd(), fileName).replace(/^.*\/sandbox-[^/]+\//, "");
  if (chosen.length > 0 && !chosen.some((start) => file.startsWith(start))) return false;
  const { line, column } = location.start;
  const digest = createHash("sha256")
    .update(JSON.stringify([seed, file, line, column, replacement]))
    .digest();
  return digest.readUInt32BE() < (percent / 100) * 2 ** 32;
}

class ChoiceChecker {
  readonly #choice: Choice = JSON.parse(process.env[CHOICE_VARIABLE] ?? "");

  async init(): Promise<void> {}

  async check(mutants: readonly Mutant[]) {
    const verdict = (mutant: Mutant) =>
      isChosen(mutant, this.#choice) ? { status: "passed" } : { status: "compileError", reason: "not chosen" };
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, verdict(mutant)]));
  }
}

export const strykerPlugins = [{ kind: "Checker", name: CHOICE_NAME, injectableClass: ChoiceChecker }];
