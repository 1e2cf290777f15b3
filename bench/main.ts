/**
 * `npm run bench [-- [--write] [<name> …]]`: runs all benchmarks, or those named, and compares their figures with the
 * checked-in ones from the same kind of machine. It fails if a figure got worse by more than the noise. With `--write`,
 * the new pages replace the checked-in ones; a benchmark that is run by itself does the same.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/**
 * The files `bench/<name>.ts`, the quick ones first. Not `peers`: it downloads other programs and measures those too.
 */
const BENCHMARKS = ["hostile-bodies", "edge", "rules", "render", "siege"];

const { values, positionals: named } = parseArgs({
  options: { write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const unknown = named.find((name) => !BENCHMARKS.includes(name));
if (unknown !== undefined) throw new Error(`no benchmark ${unknown}; there are ${BENCHMARKS.join(", ")}`);
const benchmarks = named.length > 0 ? named : BENCHMARKS;
const failed = benchmarks.filter((benchmark) => {
  process.stderr.write(`\n${benchmark}\n`);
  const program = fileURLToPath(new URL(`${benchmark}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [program, ...(values.write ? [] : ["--compare"])], {
    stdio: "inherit",
  });
  return status !== 0;
});
if (failed.length > 0) {
  process.stderr.write(`\nFailed, or got worse: ${failed.join(", ")}\n`);
  process.exitCode = 1;
}
