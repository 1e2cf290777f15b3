/**
 * `npm run mutation`: mutation testing of `rules/` and of how the backend interprets the end of a render. Stryker's
 * instrumenter makes the mutants from the syntax tree; `mutation-worker.ts` runs the tests against each. Writes
 * bench/mutation.md. Takes minutes.
 *
 * Stryker's own vitest runner works with vitest 5, but starts the test files again for each mutant, which takes hours.
 */
import { type ChildProcess, fork } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { describeMachine } from "./machine.ts";
import type { WorkerMessage } from "./mutation-worker.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const COPY = `${ROOT}.mutation`;
/** The tests of how ends are interpreted that start no program. */
const OUTCOME_TESTS = "test/backend/render/outcome.test.ts";
/** A mutant whose tests take longer counts as endless, and its worker is replaced. The hit count stops most of these. */
const MUTANT_TIMEOUT_MILLISECONDS = 180_000;
const PROPERTY_RUNS_DIVISOR = "40";

/** Types, published texts and their assembly, and files whose tests are not run here. */
const LEFT_OUT = /^(?:platform\.d|rule-ids|conformance-vectors|constraints|http\/authentication|http\/headers)\.ts$/;
/** Ids are typed by unions, so the compiler finds a wrong one; the other strings are prose. */
const EXCLUDED_MUTATIONS = ["StringLiteral"];

type Status = "killed" | "timed out" | "survived" | "not reached" | "static";

const silent = () => {};
const logger = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: silent,
  debug: silent,
  info: silent,
  warn: silent,
  error: silent,
  fatal: silent,
};

rmSync(COPY, { recursive: true, force: true });
mkdirSync(`${COPY}/test`, { recursive: true });
for (const path of [
  "rules",
  "protocol",
  "compile",
  "machine",
  "static",
  "backend",
  "test/rules",
  "test/support",
  OUTCOME_TESTS,
])
  cpSync(`${ROOT}${path}`, `${COPY}/${path}`, { recursive: true });

const chosen = process.argv.slice(2);
const rules = readdirSync(`${ROOT}rules`, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".ts") && !LEFT_OUT.test(name),
);
const names = [...rules.map((name) => `rules/${name}`), "backend/render/outcome.ts"].filter(
  (name) => chosen.length === 0 || chosen.some((end) => name.endsWith(`/${end}`)),
);
const files = names.map((name) => ({ name, mutate: true, content: readFileSync(`${ROOT}${name}`, "utf8") }));
const options = { plugins: null, excludedMutations: EXCLUDED_MUTATIONS, ignorers: [] };
const { files: instrumented, mutants: found } = await new Instrumenter(logger).instrument(files, options);
const mutants = found.filter(({ status }) => status !== "Ignored");
for (const { name, content } of instrumented) writeFileSync(`${COPY}/${name}`, content);

const statuses = new Map<string, Status>();
const pending = mutants.map(({ id }) => id);
await Promise.all([work(), work()]);
report();
rmSync(COPY, { recursive: true });

/** Tests mutants from the list until it is empty, and starts a new process after each one that runs for ever. */
async function work(): Promise<void> {
  let worker = await startWorker();
  for (let mutant = pending.shift(); mutant !== undefined; mutant = pending.shift()) {
    if (worker.static.has(mutant) && !worker.covered.has(mutant)) statuses.set(mutant, "static");
    else if (!worker.covered.has(mutant)) statuses.set(mutant, "not reached");
    else {
      const status = await testMutant(worker.process, mutant);
      statuses.set(mutant, status);
      if (status === "timed out") worker = await startWorker();
    }
    process.stderr.write(`\r${statuses.size} of ${mutants.length}`);
  }
  worker.process.kill();
}

interface Worker {
  readonly process: ChildProcess;
  readonly covered: ReadonlySet<string>;
  readonly static: ReadonlySet<string>;
}

function startWorker(): Promise<Worker> {
  const program = fileURLToPath(new URL("mutation-worker.ts", import.meta.url));
  const worker = fork(program, [COPY, OUTCOME_TESTS], { env: { ...process.env, PROPERTY_RUNS_DIVISOR } });
  return new Promise((resolve, reject) => {
    worker.once("exit", (code) => reject(new Error(`the tests fail without a mutant: exit code ${code}`)));
    worker.once("message", (message: WorkerMessage) => {
      if (message.kind !== "ready") return;
      worker.removeAllListeners("exit");
      resolve({ process: worker, covered: new Set(message.covered), static: new Set(message.static) });
    });
  });
}

function testMutant(worker: ChildProcess, mutant: string): Promise<Status> {
  return new Promise((resolve) => {
    const end = (status: Status) => {
      clearTimeout(timer);
      worker.removeAllListeners();
      resolve(status);
    };
    const timer = setTimeout(() => {
      worker.kill("SIGKILL");
      end("timed out");
    }, MUTANT_TIMEOUT_MILLISECONDS);
    worker.once("exit", () => end("timed out"));
    worker.once("message", (message: WorkerMessage) => {
      end(message.kind === "result" && message.killer !== null ? "killed" : "survived");
    });
    worker.send(mutant);
  });
}

function report(): void {
  const rows = names.map((name) => {
    const own = mutants.filter(({ fileName }) => fileName === name);
    const count = (...wanted: Status[]) =>
      own.filter(({ id }) => wanted.includes(statuses.get(id) ?? "survived")).length;
    return {
      name,
      killed: count("killed", "timed out"),
      survived: count("survived"),
      missed: count("not reached"),
      fixed: count("static"),
    };
  });
  const sum = (member: "killed" | "survived" | "missed" | "fixed") =>
    rows.reduce((total, row) => total + row[member], 0);
  const total = {
    name: "all",
    killed: sum("killed"),
    survived: sum("survived"),
    missed: sum("missed"),
    fixed: sum("fixed"),
  };
  const table = [...rows, total].map(({ name, killed, survived, missed, fixed }) => {
    const tested = killed + survived + missed;
    const score = tested === 0 ? "-" : `${((100 * killed) / tested).toFixed(1)} %`;
    return `| ${name} | ${tested} | ${killed} | ${survived} | ${missed} | ${fixed} | ${score} |`;
  });
  const survivors = mutants
    .filter(({ id }) => ["survived", "not reached"].includes(statuses.get(id) ?? "survived"))
    .map(({ id, fileName, location, mutatorName, replacement }) => {
      const text = replacement.replace(/\s+/g, " ").slice(0, 90);
      return `${fileName}:${location.start.line + 1}:${location.start.column + 1} ${mutatorName} (${statuses.get(id)}): ${text}`;
    });
  const page = `# Mutation testing

${describeMachine()}. \`npm run mutation\` makes the table; its mutants come from Stryker's instrumenter. String literals
are not mutated (ids are typed by unions, so the compiler finds a wrong one; the rest is prose). Static mutants, in code that
runs once when a file is loaded, are not tested: other tests compare the tables there with the published documents.

| File | Mutants | Killed | Survived | Not reached | Static | Score |
| --- | --- | --- | --- | --- | --- | --- |
${table.join("\n")}

## What survives

Mutants that change no verdict, by kind, as read in the list that the command prints:

- Fast paths next to a slower one with the same result (\`quote.ts\`, \`seen-keys.ts\`, \`aligned-words.ts\`, the loops over
  words in \`json-cursor.ts\`, \`utf8.ts\` and \`base64.ts\`, \`isFull\`), and limits on memory beyond which the result is the
  same (the keys that are remembered, the size of a stack or of a body).
- Bounds checks before reads that return \`undefined\` past the end, which equals no character, and boundaries between two
  branches with the same result.
- Findings after the body is known to be malformed: they are never reported.
- Code that the compiler requires and no input reaches: defaults of optional values, branches after an exhaustive one.

Others survive because their paths take long to reach: each test takes ${PROPERTY_RUNS_DIVISOR} times fewer samples here than in \`npm test\`,
and the slowest tests are left out.
`;
  process.stdout.write(`${survivors.join("\n")}\n${page}`);
  if (chosen.length === 0) writeFileSync(new URL("mutation.md", import.meta.url), page);
}
