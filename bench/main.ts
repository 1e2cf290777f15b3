/**
 * `npm run bench [-- [--write] [<name> …]]`: runs every benchmark, or those named, and compares their figures with the
 * checked-in ones of the same kind of machine. Fails if one of them got worse by more than the noise. With `--write`, the
 * new pages and figures replace the checked-in ones; a benchmark that is run by itself does the same.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as v from "valibot";
import { NOISE, worsenings } from "./compare.ts";
import { describeMachineKind } from "./machine.ts";
import { RESULT, type Result, resultFile } from "./report.ts";

/** Each is `bench/<name>.ts`; the quick ones first. Not `peers`: it downloads other programs and measures those too. */
const BENCHMARKS = [
  "hostile-bodies",
  "svg",
  "fonts",
  "operator-fonts",
  "edge",
  "rules",
  "render",
  "backends",
  "siege",
] as const;

async function readResult(file: string | URL): Promise<Result | null> {
  const text = await readFile(file, "utf8").catch(() => null);
  return text === null ? null : v.parse(RESULT, JSON.parse(text));
}

interface Destination {
  /** For results that are only compared. */
  readonly directory: string;
  /** Whether the pages and figures in `bench/` are replaced. */
  readonly isWriting: boolean;
}

/** Runs a benchmark and records how its figures changed. @returns whether none got worse. */
async function run(benchmark: string, { directory, isWriting }: Destination): Promise<boolean> {
  const program = fileURLToPath(new URL(`${benchmark}.ts`, import.meta.url));
  const before = await readResult(resultFile(benchmark));
  const file = join(directory, `${benchmark}.json`);
  const { status } = spawnSync(process.execPath, [program, ...(isWriting ? [] : ["--json", file])], {
    stdio: "inherit",
  });
  const now = await readResult(isWriting ? resultFile(benchmark) : file);
  if (status !== 0 || now === null) return say(benchmark, "failed", false);
  if (before === null) return say(benchmark, "nothing to compare with: no figures are checked in", true);
  const worse = worsenings(before, now);
  if (worse === null) {
    return say(benchmark, `nothing to compare with: measured on ${describeMachineKind(before.machine)}`, true);
  }
  for (const { figure, before: earlier, now: figureNow } of worse)
    say(benchmark, `${figure}: ${earlier} → ${figureNow}`, false);
  const isFine = worse.length === 0;
  return isFine ? say(benchmark, `nothing got worse by more than ${100 * NOISE} % since ${before.date}`, true) : false;
}

const summary: string[] = [];

function say(benchmark: string, message: string, isFine: boolean): boolean {
  summary.push(`${isFine ? " " : "✗"} ${benchmark}: ${message}`);
  return isFine;
}

const { values, positionals: named } = parseArgs({
  options: { write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const unknown = named.find((name) => !BENCHMARKS.some((benchmark) => benchmark === name));
if (unknown !== undefined) throw new Error(`no benchmark ${unknown}; there are ${BENCHMARKS.join(", ")}`);
const benchmarks = named.length > 0 ? named : BENCHMARKS;
const directory = await mkdtemp(join(tmpdir(), "bench-"));
const secondsSince = (start: number) => `${Math.round((performance.now() - start) / 1000)} s`;
const started = performance.now();
try {
  for (const [index, benchmark] of benchmarks.entries()) {
    process.stderr.write(`\n${index + 1} of ${benchmarks.length}: ${benchmark}, after ${secondsSince(started)}\n`);
    if (!(await run(benchmark, { directory, isWriting: values.write }))) process.exitCode = 1;
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.stdout.write(`\n${summary.join("\n")}\n\n${benchmarks.length} benchmarks in ${secondsSince(started)}\n`);
