/**
 * `npm run bench [-- <name> …]`: runs every benchmark, or those named, and compares their figures with the checked-in ones
 * of the same kind of machine. Fails if one of them got worse by more than the noise. It changes no checked-in
 * figure: only a benchmark that is run by itself does that.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { NOISE, worsenings } from "./compare.ts";
import { describeMachineKind } from "./machine.ts";
import { RESULT, type Result, resultFile } from "./report.ts";

/** Each is `bench/<name>.ts`; the quick ones first. */
const BENCHMARKS = [
  "hostile-bodies",
  "svg",
  "fonts",
  "operator-fonts",
  "edge",
  "rules",
  "render",
  "origins",
  "siege",
] as const;

async function readResult(file: string | URL): Promise<Result | null> {
  const text = await readFile(file, "utf8").catch(() => null);
  return text === null ? null : v.parse(RESULT, JSON.parse(text));
}

/** Runs a benchmark and prints how its figures changed. @returns whether none got worse. */
async function run(benchmark: string, directory: string): Promise<boolean> {
  const program = fileURLToPath(new URL(`${benchmark}.ts`, import.meta.url));
  const file = join(directory, `${benchmark}.json`);
  const { status } = spawnSync(process.execPath, [program, "--json", file], { stdio: "inherit" });
  const now = await readResult(file);
  if (status !== 0 || now === null) return say(benchmark, "failed", false);
  const before = await readResult(resultFile(benchmark));
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

const named = process.argv.slice(2);
const unknown = named.find((name) => !BENCHMARKS.some((benchmark) => benchmark === name));
if (unknown !== undefined) throw new Error(`no benchmark ${unknown}; there are ${BENCHMARKS.join(", ")}`);
const directory = await mkdtemp(join(tmpdir(), "bench-"));
try {
  for (const benchmark of named.length > 0 ? named : BENCHMARKS) {
    if (!(await run(benchmark, directory))) process.exitCode = 1;
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.stdout.write(`\n${summary.join("\n")}\n`);
