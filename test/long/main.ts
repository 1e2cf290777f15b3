/**
 * `npm run test:long [-- fonts pdf …]`: the suites that take too long, or too much of a machine, for each change. All run, even if
 * one fails; the last lines say which passed and which could not run. Options are those of the one suite that is named.
 */
import { execa } from "execa";
import { findOnPath } from "../../typst/programs.mjs";

interface Suite {
  readonly name: string;
  /** Programs without which it cannot run. */
  readonly needs: readonly string[];
  /** Arguments of Node. */
  readonly command: readonly string[];
}

const withVitest = (folder: string) => [
  "test/run.ts",
  "--config",
  "test/long/vitest.config.ts",
  `test/long/${folder}/`,
];

const SUITES: readonly Suite[] = [
  { name: "fonts", needs: ["apt-get"], command: withVitest("fonts") },
  { name: "pdf", needs: ["java", "mvn", "python3"], command: withVitest("pdf") },
  { name: "generators", needs: ["java", "mvn", "go", "python3"], command: withVitest("generators") },
  { name: "engines", needs: ["apt-get", "setpriv"], command: ["test/long/engines/main.ts"] },
];

const firstOption = [...process.argv.slice(2), "-"].findIndex((argument) => argument.startsWith("-"));
const names = process.argv.slice(2, 2 + firstOption);
const options = process.argv.slice(2 + firstOption);
const unknown = names.find((name) => !SUITES.some((suite) => suite.name === name));
if (unknown !== undefined) stop(`there is no suite ${unknown}; there are ${SUITES.map(({ name }) => name).join(", ")}`);
if (options.length > 0 && names.length !== 1) stop("name the one suite that the options are for");

const results: string[] = [];
for (const suite of SUITES.filter(({ name }) => names.length === 0 || names.includes(name))) {
  results.push(`${suite.name}: ${await resultOf(suite)}`);
}
process.stdout.write(`\n${results.join("\n")}\n`);

async function resultOf({ name, needs, command }: Suite): Promise<string> {
  const missing = needs.filter((program) => findOnPath(program).length === 0);
  if (missing.length > 0) {
    process.exitCode = 1;
    return `not run: ${missing.join(", ")} missing`;
  }
  process.stdout.write(`\n${name}\n`);
  const begun = performance.now();
  const { failed } = await execa(process.execPath, [...command, ...options], { stdio: "inherit", reject: false });
  if (failed) process.exitCode = 1;
  return `${failed ? "FAILED" : "passed"} after ${((performance.now() - begun) / 1000).toFixed(0)} s`;
}

function stop(message: string): never {
  process.stderr.write(`test:long: ${message}\n`);
  process.exit(2);
}
