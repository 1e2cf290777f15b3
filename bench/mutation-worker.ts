/**
 * Runs the tests of `rules/` and other given tests against mutants, in the copy of the project that `bench/mutation.ts` has
 * made: first without a mutant, to see which tests reach which mutants, then with each mutant that it is sent.
 */
import { readdirSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { TESTS } from "./mutation-tests.ts";

/** The globals that Stryker's instrumented code reads and writes. */
interface MutantSwitch {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { readonly static: Hits; readonly perTest: Readonly<Record<string, Hits>> };
}
type Hits = Readonly<Record<string, number>>;

declare global {
  var __stryker__: MutantSwitch | undefined;
}

export type WorkerMessage =
  | { readonly kind: "ready"; readonly covered: readonly string[]; readonly static: readonly string[] }
  | { readonly kind: "result"; readonly mutant: string; readonly killer: string | null };

/** These run Typst, run Python, count work, or start programs. */
const LEFT_OUT =
  /(?:^|\/)(?:typst-reads-json|key-pattern-elsewhere|work-of-validation|vectors-catch-mistakes|tokens)\./;
/** A mutant that is reached this many times more often than the original code is assumed to run for ever. */
const MAX_HIT_FACTOR = 50;
const MIN_HIT_LIMIT = 2_000_000;
/** Tests that take more CPU time without a mutant are left out, because a surviving mutant runs every test that reaches it. */
const MAX_TEST_MILLISECONDS = 700;

const mutantSwitch: MutantSwitch = {};
globalThis.__stryker__ = mutantSwitch;
// The same samples for every mutant.
fc.configureGlobal({ seed: 1 });

const shim = new URL("mutation-tests.ts", import.meta.url).href;
registerHooks({
  resolve(specifier, context, next) {
    const isTest = context.parentURL?.includes("/.mutation/test/") === true;
    return specifier === "vitest" && isTest ? { url: shim, shortCircuit: true } : next(specifier, context);
  },
});

function send(message: WorkerMessage): void {
  process.send?.(message);
}

const [copy = "", ...otherTests] = process.argv.slice(2);
const rulesTests = readdirSync(`${copy}/test/rules`, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".test.ts") && !LEFT_OUT.test(name),
);
for (const path of [...rulesTests.map((name) => `test/rules/${name}`), ...otherTests]) {
  await import(pathToFileURL(`${copy}/${path}`).href);
}

const cpuMilliseconds: number[] = [];
for (const [index, test] of TESTS.entries()) {
  mutantSwitch.currentTestId = String(index);
  const started = process.cpuUsage();
  await test.run();
  const { user, system } = process.cpuUsage(started);
  cpuMilliseconds[index] = (user + system) / 1000;
}
mutantSwitch.currentTestId = undefined;

const coverage = mutantSwitch.mutantCoverage ?? { static: {}, perTest: {} };
/** The tests that reach a mutant, and the highest number of hits in one test. */
const reaching = new Map<string, { tests: number[]; hits: number }>();
for (const [test, hits] of Object.entries(coverage.perTest)) {
  if ((cpuMilliseconds[Number(test)] ?? 0) > MAX_TEST_MILLISECONDS) continue;
  for (const [mutant, count] of Object.entries(hits)) {
    const entry = reaching.get(mutant) ?? { tests: [], hits: 0 };
    entry.tests.push(Number(test));
    entry.hits = Math.max(entry.hits, count);
    reaching.set(mutant, entry);
  }
}
/** How many mutants each test has killed: those that kill most run first. */
const kills = new Map<number, number>();

async function killerOf(mutant: string): Promise<string | null> {
  const { tests, hits } = reaching.get(mutant) ?? { tests: [], hits: 0 };
  mutantSwitch.activeMutant = mutant;
  try {
    const promise = (index: number) => (kills.get(index) ?? 0.1) / (cpuMilliseconds[index] ?? 1);
    for (const index of tests.toSorted((a, b) => promise(b) - promise(a))) {
      mutantSwitch.hitCount = 0;
      mutantSwitch.hitLimit = Math.max(MIN_HIT_LIMIT, MAX_HIT_FACTOR * hits);
      const test = TESTS[index];
      try {
        await test?.run();
      } catch {
        kills.set(index, (kills.get(index) ?? 0) + 1);
        return test?.name ?? "";
      }
    }
    return null;
  } finally {
    mutantSwitch.activeMutant = undefined;
  }
}

// The control: a test that fails when it is repeated would kill every mutant that it reaches.
const control = new Set([...reaching.values()].flatMap(({ tests }) => tests));
mutantSwitch.activeMutant = "none";
for (const index of control) await TESTS[index]?.run();
mutantSwitch.activeMutant = undefined;

process.on("message", (mutant) => {
  killerOf(String(mutant)).then(
    (killer) => send({ kind: "result", mutant: String(mutant), killer }),
    () => process.exit(1),
  );
});
send({ kind: "ready", covered: [...reaching.keys()], static: Object.keys(coverage.static) });
