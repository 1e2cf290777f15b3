/** `npm run bench [-- <name> …]`: runs all benchmarks, or those named. Each writes its page, or its section of one. */
import { fileURLToPath } from "node:url";
import { execa } from "execa";

/** The files `bench/<name>.ts`, the quick ones first. */
const BENCHMARKS = ["edge", "rules", "render"];

const named = process.argv.slice(2);
const unknown = named.find((name) => !BENCHMARKS.includes(name));
if (unknown !== undefined) throw new Error(`no benchmark ${unknown}; there are ${BENCHMARKS.join(", ")}`);
for (const benchmark of named.length > 0 ? named : BENCHMARKS) {
  process.stderr.write(`\n${benchmark}\n`);
  const program = fileURLToPath(new URL(`${benchmark}.ts`, import.meta.url));
  const { failed } = await execa(process.execPath, [program], { stdio: "inherit", reject: false });
  if (failed) process.exitCode = 1;
}
