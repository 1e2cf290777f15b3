/**
 * Broken variants of the code under test: mutants.diff. The simulation must find every one of them, which shows that
 * the invariants can be broken. As a worker thread, this file receives one mutant after the other and runs schedules
 * with it in place.
 */
import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { isMainThread, parentPort } from "node:worker_threads";

export interface Mutant {
  readonly file: string;
  readonly mistake: string;
  readonly from: string;
  readonly to: string;
  /** The invariants that it may break first. */
  readonly invariants: string;
  /** Of a schedule that has found it. It is tried first. */
  readonly seed: number;
}

/** How many schedules are tried if that of the noted seed no longer finds the mistake. */
const MAX_SCHEDULES = 2000;

export function readMutants(): readonly Mutant[] {
  const text = readFileSync(new URL("mutants.diff", import.meta.url), "utf8");
  return text.split("\n@ ").flatMap((part) => {
    const [file = ""] = part.split("\n");
    return [...part.matchAll(/^# (.*): (.*) by (\d+)\n- (.*)\n\+ ?(.*)$/gm)].map(
      ([, mistake = "", invariants = "", seed, from = "", to = ""]) => {
        return { file, mistake, invariants, seed: Number(seed), from, to };
      },
    );
  });
}

/** The code of a file with a mistake. */
export function mutate(source: string, { mistake, from, to }: Mutant): string {
  const parts = source.split(from);
  if (parts.length !== 2) throw new Error(`${mistake}: its place is there ${parts.length - 1} times`);
  return parts.join(to);
}

/** The code of this project without types, by URL. */
const sources = new Map<string, string>();
let mutantsRun = 0;

if (!isMainThread) {
  // Thousands of connections break, and their stack traces are never read.
  Error.stackTraceLimit = 0;
  parentPort?.on("message", (mutant: unknown) => {
    if (!isMutant(mutant)) throw new TypeError("not a mutant");
    // The text of an error equals no invariant, and the thread goes on with the next mutant.
    const answer = firstBroken(mutant).catch(String);
    void answer.then((invariant) => parentPort?.postMessage(invariant));
  });
}

/**
 * The invariant that is broken by the first schedule that breaks one; undefined if none does. For one mutant at a time.
 *
 * Each mutant gets its own copy of the simulation's modules, under URLs of their own. A thread per mutant would read
 * all files again.
 */
async function firstBroken(mutant: Mutant): Promise<string | undefined> {
  const suffix = `?mutant=${++mutantsRun}`;
  const mutatedUrl = new URL(`../../${mutant.file}`, import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      return resolved.url.endsWith(".ts") ? { ...resolved, url: `${resolved.url}${suffix}` } : resolved;
    },
    load: (loaded, context, next) => {
      if (!loaded.endsWith(suffix)) return next(loaded, context);
      const url = loaded.slice(0, -suffix.length);
      const read = () => String(next(url, context).source);
      const source =
        url === mutatedUrl
          ? stripTypeScriptTypes(mutate(read(), mutant))
          : (sources.get(url) ?? stripTypeScriptTypes(read()));
      if (url !== mutatedUrl) sources.set(url, source);
      return { format: "module", source, shortCircuit: true };
    },
  });
  try {
    const { makeSchedule } = await import("./schedule.ts");
    const { runSchedule } = await import("./world.ts");
    for (let seed = 0; seed <= MAX_SCHEDULES; seed++) {
      const violation = await runSchedule(makeSchedule(seed || mutant.seed));
      if (violation !== null) return violation.invariant;
    }
    return undefined;
  } finally {
    hooks.deregister();
  }
}

function isMutant(data: unknown): data is Mutant {
  return typeof data === "object" && data !== null && "mistake" in data;
}
