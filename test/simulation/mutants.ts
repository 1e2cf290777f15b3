/**
 * Broken variants of the code under test: mutants.diff. The simulation must find every one of them, which shows that the invariants can
 * be broken. As a worker, this file runs schedules with one of them in place.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

export interface Mutant {
  readonly file: string;
  readonly mistake: string;
  readonly from: string;
  readonly to: string;
  /** The invariants that it may break first. */
  readonly invariants: string;
}

/** Most mistakes are found by one of the first hundred schedules. */
const MAX_SCHEDULES = 2000;

export function readMutants(): readonly Mutant[] {
  const text = readFileSync(new URL("mutants.diff", import.meta.url), "utf8");
  return text.split("\n@ ").flatMap((part) => {
    const [file = ""] = part.split("\n");
    return [...part.matchAll(/^# (.*): (.*)\n- (.*)\n\+ ?(.*)$/gm)].map(
      ([, mistake = "", invariants = "", from = "", to = ""]) => ({ file, mistake, from, to, invariants }),
    );
  });
}

/** The code of a file with a mistake. */
export function mutated(source: string, { mistake, from, to }: Mutant): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new Error(`${mistake}: its place is there ${parts.length - 1} times`);
  return parts.join(to);
}

if (!isMainThread && isMutant(workerData)) {
  const mutant = workerData;
  const url = new URL(`../../${mutant.file}`, import.meta.url).href;
  registerHooks({
    load: (loaded, context, next) => {
      const result = next(loaded, context);
      return loaded === url ? { ...result, source: mutated(String(result.source), mutant) } : result;
    },
  });
  const { makeSchedule } = await import("./schedule.ts");
  const { runSchedule } = await import("./world.ts");
  let found: string | undefined;
  for (let seed = 1; seed <= MAX_SCHEDULES && found === undefined; seed++) {
    found = (await runSchedule(makeSchedule(seed))).violation?.invariant;
  }
  parentPort?.postMessage(found);
}

function isMutant(data: unknown): data is Mutant {
  return typeof data === "object" && data !== null && "mistake" in data;
}
