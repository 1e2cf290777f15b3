/**
 * A plugin of Stryker for `npm run mutation`: leaves out the changes that are not in the chosen files or not in the random sample.
 */
import { createHash } from "node:crypto";
import { relative } from "node:path";

export const CHOICE_NAME = "choice";
/** The environment variable by which Stryker's processes learn the choice. */
export const CHOICE_VARIABLE = "MUTATION_CHOICE";
/** What Stryker records for a change that is left out. A change is never compiled, so it records this for no other reason. */
export const NOT_CHOSEN_STATUS = "CompileError";

interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
  readonly replacement: string;
}

interface Choice {
  readonly percent: number;
  /** Another seed draws another sample. */
  readonly seed: string;
  /** Beginnings of paths; empty for all. */
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
