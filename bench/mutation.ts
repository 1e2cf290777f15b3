/**
 * `npm run mutation`: Stryker changes the code in small ways, and each change should make a test fail.
 *
 *     npm run mutation -- --write                                  every change; writes bench/mutation.md
 *     npm run mutation -- --percent 20 backend/http edge/backends  a random sample of the changes in these folders or files
 *
 * Results add up in out/mutation-results/, even if a run is interrupted. A change is tried again when its code, or a
 * test that reaches it, has changed.
 */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { describeMachine } from "./machine.ts";
import { CHOICE_NAME, CHOICE_VARIABLE, NOT_CHOSEN_STATUS } from "./mutation-choice.ts";

/** Folders whose code is changed, and their tests. For each change, Stryker runs those tests that reach it. */
const PARTS = [
  { folders: ["rules", "protocol"], tests: "{rules,protocol}/**/*" },
  { folders: ["edge"], tests: "edge/**/*" },
  { folders: ["backend/admission"], tests: "backend/admission/*" },
  {
    folders: ["backend/http"],
    tests: "backend/{http,over-http,start}/{ca*,connections,delivery,observability,read-body,routes,waiting-renders}",
  },
  {
    folders: ["backend/render"],
    tests: "backend/{render/*,over-http/{archive,*failures,failed-renders,formats,page-*},typst/warm-starts}",
  },
  { folders: ["backend/sandbox"], tests: "backend/sandbox/*" },
] as const;

type Part = (typeof PARTS)[number];

/**
 * Types, published texts, code that only tests of another folder run (`edge/standalone` starts as a Worker of its own,
 * in `test/service`), and an entry point without code of its own.
 */
const UNCHANGED = [
  "**/*.d.ts",
  "rules/{rule-ids,conformance-vectors,constraints}.ts",
  "edge/standalone/**",
  "edge/worker-with-containers.ts",
];
/** These run Python, count work or wait for minutes; a change that survives runs every test that reaches it. */
const LEFT_OUT = "test/**/{key-pattern-elsewhere,work-of-validation,vectors-catch-mistakes,waiting-text}.test.ts";
const RESULTS_FOLDER = "out/mutation-results";
const GOAL_PERCENT = 90;
/** Property tests take this many times fewer samples. */
const PROPERTY_RUNS_DIVISOR = "40";
/** If a change makes its tests take longer by this much, they count as endless. */
const TIMEOUT_MILLISECONDS = 120_000;
const DRY_RUN_TIMEOUT_MINUTES = 30;

/** Changes that alter no behaviour, by file: the code, what replaces it, and why nobody can notice. */
// biome-ignore format: a table.
const EQUIVALENT: Readonly<Record<string, readonly (readonly [code: string, replacement: string, reason: string])[]>> = {
  "backend/admission/caller-load.ts": [
    ["endSeconds - nowSeconds > this.#meanSeconds", "endSeconds - nowSeconds >= this.#meanSeconds",
      "A render as long as the mean leaves it as it is."],
    ["seconds > this.#meanSeconds", "seconds >= this.#meanSeconds", "A render as long as the mean leaves it as it is."],
  ],
  "backend/admission/render-queue.ts": [
    ["left.running < right.running", "left.running <= right.running", "They differ."],
    ["usedMore < 0", "usedMore <= 0", "It is not 0: it is more than a second, either way."],
  ],
  "backend/http/read-body.ts": [
    ["collector.free();", ";", "The memory is free at the next garbage collection at the latest."],
    ['reading.kind !== "body"', "false", "The memory is free at the next garbage collection at the latest."],
  ],
  "backend/http/render-route.ts": [
    ["reply.raw.destroy();", ";", "The connection is closed already."],
  ],
  "backend/render/archive.ts": [
    ["error !== null", "false", "fflate knows no error in what it is given."],
    ["bytesRead < READ_BYTES", "false", "A stream makes the same archive, more slowly."],
    ["entry.ondata?.(null, compressed, isLast)", "entry.ondata(null, compressed, isLast)",
      "Adding the entry has set it."],
    ["{ start: 0, highWaterMark: READ_BYTES }", "{}",
      "The file is still at its beginning, and pieces of another size make the same archive."],
    ["others.length === 0", "false", "A copy has the same bytes."],
  ],
  "backend/render/page-probe.ts": [
    ['wanted.format !== "pdf"', "true", "A PDF has no `archive` that could be null."],
    ['end.kind === "exited"', "true", "Only a process that exits has an exit code."],
  ],
  "backend/render/spool.ts": [
    ["searched.length - text.length + 1", "searched.length - text.length - 1", "Two bytes more are searched again."],
  ],
  "backend/sandbox/resource-limits.ts": [
    ['["--version"]', "[]", "Only whether prlimit is missing matters."],
  ],
  "backend/sandbox/shared-libraries.ts": [
    ['["--version"]', "[]", "Typst prints its help, which names no library either."],
  ],
  "backend/sandbox/trial.ts": [
    ["process.getuid?.()", "process.getuid()", "Linux has users."],
    ["/^Seccomp:\\t2$/m", "/Seccomp:\\t2$/m", "No other line ends like this: the process is not named so."],
  ],
  "edge/backends/backend-address.ts": [
    ["equals > 0", "true", "Without `=`, an entry that begins with a name is no URL."],
    ["equals > 0", "equals >= 0", "An empty text is no name."],
    ["url !== null", "true", "It tells the compiler what `isHttp` implies."],
  ],
  "edge/backends/backend-choice.ts": [
    ["load !== null", "true", "A load that was never told is not fresh."],
  ],
  "edge/requests/forward-render.ts": [
    ["at < body.length", "at <= body.length", "A last chunk of no bytes adds nothing."],
  ],
  "edge/body/read-body.ts": [
    ["buffer.byteLength < READ_BYTES", "buffer.byteLength <= READ_BYTES", "Another buffer of the same size."],
  ],
  "edge/worker.ts": [
    ["settingsOf(context);", ";", "`allowOtherOrigins` has read them already: for the same request, with the same error."],
  ],
};

/** One change in Stryker's file of results. */
interface Mutant {
  readonly status: string;
  readonly location: { readonly start: Position; readonly end: Position };
  readonly replacement?: string;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

interface Results {
  readonly files: Readonly<Record<string, { readonly source: string; mutants: readonly Mutant[] }>>;
}

type Fate = "caught" | "survived" | "not reached" | "equivalent" | "not tried";

interface Change {
  readonly file: string;
  readonly fate: Fate;
  readonly description: string;
}

const FATES: Readonly<Record<string, Fate>> = {
  Killed: "caught",
  Timeout: "caught",
  Survived: "survived",
  NoCoverage: "not reached",
  [NOT_CHOSEN_STATUS]: "not tried",
};

const { values, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: {
    percent: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
  },
});
const temporaryFolder = mkdtempSync(join(tmpdir(), "mutation-"));
Object.assign(process.env, { PROPERTY_RUNS_DIVISOR, TESTS_OF_MUTATIONS: "yes", TMPDIR: temporaryFolder });
process.env[CHOICE_VARIABLE] = JSON.stringify({ percent: Number(values.percent), seed: values.seed, chosen });
const changes: Change[] = [];
for (const part of PARTS) {
  const files = part.folders.flatMap((folder) => globSync(`${folder}/**/*.ts`, { exclude: UNCHANGED }));
  if (chosen.length === 0 || chosen.some((start) => files.some((file) => file.startsWith(start)))) {
    await tryChanges(part, files);
  }
  changes.push(...changesOf(part));
}
rmSync(temporaryFolder, { recursive: true, force: true });
report();

function resultsFile({ folders: [first] }: Part): string {
  return `${RESULTS_FOLDER}/${first.replace("/", "-")}.json`;
}

/** The results of earlier runs; null if there are none. */
function readResults(part: Part): Results | null {
  return existsSync(resultsFile(part)) ? JSON.parse(readFileSync(resultsFile(part), "utf8")) : null;
}

/** Runs the tests of some folders against the chosen changes of their files that have no result yet. */
async function tryChanges(part: Part, files: readonly string[]): Promise<void> {
  const earlier = readResults(part);
  if (earlier !== null) {
    // Otherwise Stryker would reuse this status, and a change outside the sample would never be tried.
    for (const file of Object.values(earlier.files)) {
      file.mutants = file.mutants.filter(({ status }) => status !== NOT_CHOSEN_STATUS);
    }
    writeFileSync(resultsFile(part), JSON.stringify(earlier));
  }
  await new Stryker({
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner", new URL("mutation-choice.ts", import.meta.url).href],
    checkers: [CHOICE_NAME],
    // Tests in workerd do not import the code that they test.
    vitest: { related: false, pool: "forks" },
    mutate: [...files],
    // Ids are typed as unions, so the compiler finds wrong ones. The other strings are prose.
    mutator: { plugins: null, excludedMutations: ["StringLiteral"] },
    testFiles: globSync(`test/${part.tests}.test.ts`, { exclude: [LEFT_OUT] }),
    coverageAnalysis: "perTest",
    // Code that runs once when a file is loaded: other tests compare the tables there with the published documents.
    ignoreStatic: true,
    disableTypeChecks: false,
    // Without one: Stryker would read it through an interface that TypeScript 7 does not have.
    tsconfigFile: "none",
    tempDirName: "out/mutation",
    incremental: true,
    incrementalFile: resultsFile(part),
    concurrency: 2,
    timeoutMS: TIMEOUT_MILLISECONDS,
    dryRunTimeoutMinutes: DRY_RUN_TIMEOUT_MINUTES,
    reporters: ["progress-append-only"],
    allowEmpty: true,
  }).runMutationTest();
}

/** Every change of a part, with its fate in this run or an earlier one. */
function changesOf(part: Part): Change[] {
  return Object.entries(readResults(part)?.files ?? {}).flatMap(([file, { source, mutants }]) =>
    mutants.flatMap((mutant) => changeOf(file, source, mutant)),
  );
}

function changeOf(file: string, source: string, { status, location, replacement = "" }: Mutant): Change[] {
  const { start, end } = location;
  const lines = source.split("\n").slice(start.line - 1, end.line);
  const code = lines.join("\n").slice(start.column - 1, lines.length === 1 ? end.column - 1 : undefined);
  const description = `${file}:${start.line}: ${code} -> ${replacement}`.replace(/\s+/g, " ");
  const fate = FATES[status];
  if (fate === undefined) return [];
  const isEquivalent = EQUIVALENT[file]?.some(([ofCode, by]) => ofCode === code && by === replacement) === true;
  return [{ file, description, fate: isEquivalent && fate === "survived" ? "equivalent" : fate }];
}

function report(): void {
  const row = (folder: string): string => {
    const own = changes.filter(({ file }) => file.startsWith(`${folder}/`));
    const count = (...wanted: Fate[]) => own.filter(({ fate }) => wanted.includes(fate)).length;
    const judged = count("caught", "survived", "not reached");
    const score = judged === 0 ? "-" : `${((100 * count("caught")) / judged).toFixed(1)} %`;
    const numbers = [own.length, own.length - count("not tried"), count("caught"), count("survived")];
    return `| ${[folder, ...numbers, count("not reached"), count("equivalent"), score].join(" | ")} |`;
  };
  const alive = changes.filter(({ fate }) => fate === "survived" || fate === "not reached");
  const page = `# Mutation testing

${describeMachine()}. \`npm run mutation -- --write\` makes this page: [Stryker](https://stryker-mutator.io) changes the code in small ways, and the tests
of the folder should notice. The goal is ${GOAL_PERCENT} % of the changes that were tried and are not equivalent (\`bench/mutation.ts\` lists those that nobody could notice). Not all of them are tried every time: results add
up from one run to the next, and a run may try a random sample, file by file, for as long as there is time. A change that survived counts until it is
tried again, even if there is a test for it by now. String literals are not changed, nor code that runs once when a file is loaded or before the tests that share it.
Changes that an interrupted run did not come to are not in the table.

| Folder | Changes | Tried | Caught | Survived | Not reached | Equivalent | Score |
| --- | --- | --- | --- | --- | --- | --- | --- |
${PARTS.flatMap(({ folders }) => folders)
  .map(row)
  .join("\n")}
`;
  process.stdout.write(`${alive.map(({ description, fate }) => `${description} (${fate})\n`).join("")}${page}`);
  if (values.write) writeFileSync(new URL("mutation.md", import.meta.url), page);
}
