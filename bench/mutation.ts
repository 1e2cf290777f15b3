/**
 * `npm run mutation`: Stryker changes the code in small ways, and each change should make a test fail. Writes bench/mutation.md.
 *
 *     npm run mutation                                             every 20th line of every folder
 *     npm run mutation -- --every 1 backend/admission rules/quote  every line of these; only prints the page
 */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { describeMachine } from "./machine.ts";

/** What is changed together, because the same tests run for it. Stryker runs those of them that reach a change. */
const PARTS = [
  { folders: ["rules", "protocol"], tests: ["rules", "protocol"] },
  { folders: ["edge"], tests: ["edge"] },
  {
    folders: ["backend/admission", "backend/http", "backend/render", "backend/sandbox"],
    tests: ["backend/admission", "backend/http", "backend/over-http", "backend/render", "backend/sandbox"],
  },
] as const;

/** Types and published texts. */
const UNCHANGED = ["**/*.d.ts", "rules/{rule-ids,conformance-vectors,constraints}.ts", "edge/containers/**"];
/** These run Python, count work or wait for minutes; a change that survives runs every test that reaches it. */
const LEFT_OUT = "test/**/{key-pattern-elsewhere,work-of-validation,vectors-catch-mistakes,waiting-text}.test.ts";
const GOAL_PERCENT = 90;
const DEFAULT_EVERY = "20";
/** How many times fewer samples property tests take. */
const PROPERTY_RUNS_DIVISOR = "40";
/** A change whose tests take this much longer than without it counts as endless. */
const TIMEOUT_MILLISECONDS = 30_000;
const DRY_RUN_TIMEOUT_MINUTES = 30;

/** Changes that alter no behaviour: the file, the code, what replaces it, and why nobody can notice. */
const EQUIVALENT: readonly (readonly [file: string, code: string, replacement: string, reason: string])[] = [];

interface Change {
  readonly place: string;
  readonly file: string;
  readonly code: string;
  readonly replacement: string;
  readonly status: "caught" | "survived" | "not reached" | "equivalent";
}

const { values, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { every: { type: "string", default: DEFAULT_EVERY } },
});
const every = Number(values.every);
const temporaryFolder = mkdtempSync(join(tmpdir(), "mutation-"));
Object.assign(process.env, { PROPERTY_RUNS_DIVISOR, TMPDIR: temporaryFolder });
const changes: Change[] = [];
for (const { folders, tests } of PARTS) {
  const files = folders
    .flatMap((folder) => globSync(`${folder}/**/*.ts`, { exclude: UNCHANGED }))
    .filter((file) => chosen.length === 0 || chosen.some((start) => file.startsWith(start)));
  if (files.length > 0) changes.push(...(await changesOf(files, tests)));
}
rmSync(temporaryFolder, { recursive: true, force: true });
report();

/** Runs the tests of some folders against changes of some files. */
async function changesOf(files: readonly string[], tests: readonly string[]): Promise<Change[]> {
  const results = await new Stryker({
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    // Tests in workerd do not import what they test.
    vitest: { related: false, pool: "forks" },
    mutate: files.flatMap(sampledLines),
    // Ids are typed by unions, so the compiler finds a wrong one; the other strings are prose.
    mutator: { plugins: null, excludedMutations: ["StringLiteral"] },
    testFiles: tests.flatMap((folder) => globSync(`test/${folder}/**/*.test.ts`, { exclude: [LEFT_OUT] })),
    coverageAnalysis: "perTest",
    // What runs once when a file is loaded: other tests compare the tables there with the published documents.
    ignoreStatic: true,
    disableTypeChecks: false,
    // None: Stryker would read it by means that TypeScript 7 does not have.
    tsconfigFile: "none",
    tempDirName: "out/mutation",
    timeoutMS: TIMEOUT_MILLISECONDS,
    dryRunTimeoutMinutes: DRY_RUN_TIMEOUT_MINUTES,
    reporters: ["progress-append-only"],
    allowEmpty: true,
  }).runMutationTest();
  return results.flatMap(({ fileName, location: { start, end }, replacement = "", status }): Change[] => {
    const file = files.find((name) => fileName.endsWith(`/${name}`)) ?? fileName;
    const lines = readFileSync(file, "utf8")
      .split("\n")
      .slice(start.line - 1, end.line);
    const [first = ""] = lines;
    const code = lines.join("\n").slice(start.column - 1, end.line === start.line ? end.column - 1 : undefined);
    const change = { place: `${file}:${start.line}`, file, code, replacement };
    if (status === "Killed" || status === "Timeout") return [{ ...change, status: "caught" }];
    if (status !== "Survived" && status !== "NoCoverage") return [];
    const isKnown = EQUIVALENT.some(
      ([inFile, ofCode, by]) => inFile === file && first.includes(ofCode) && by === replacement,
    );
    return [{ ...change, status: isKnown ? "equivalent" : status === "Survived" ? "survived" : "not reached" }];
  });
}

/** Every n-th line of a file, in the notation of Stryker. */
function sampledLines(file: string): string[] {
  if (every === 1) return [file];
  const count = readFileSync(file, "utf8").split("\n").length;
  return Array.from({ length: Math.floor(count / every) }, (_, index) => every * (index + 1)).map(
    (line) => `${file}:${line}-${line}`,
  );
}

function report(): void {
  const row = (folder: string): string => {
    const count = (wanted: Change["status"]) =>
      changes.filter(({ file, status }) => file.startsWith(folder) && status === wanted).length;
    const [caught, equivalent] = [count("caught"), count("equivalent")];
    const tested = caught + count("survived") + count("not reached");
    const score = tested === 0 ? "-" : `${((100 * caught) / tested).toFixed(1)} %`;
    return `| ${folder || "all"} | ${tested} | ${caught} | ${count("survived")} | ${count("not reached")} | ${equivalent} | ${score} |`;
  };
  const alive = changes
    .filter(({ status }) => status === "survived" || status === "not reached")
    .map(
      ({ place, code, replacement, status }) => `${place} (${status}): ${code} -> ${replacement.replace(/\s+/g, " ")}`,
    );
  const page = `# Mutation testing

${describeMachine()}. \`npm run mutation\` makes the table: [Stryker](https://stryker-mutator.io) changes every ${every}th line, and the tests of the folder should
notice. The goal is ${GOAL_PERCENT} %. String literals are not changed, nor code that runs once when a file is loaded. Changes that span several
lines, such as a function without its body, are only made with \`--every 1\`.

| Folder | Changes | Caught | Survived | Not reached | Equivalent | Score |
| --- | --- | --- | --- | --- | --- | --- |
${[...PARTS.flatMap(({ folders }) => folders), ""].map(row).join("\n")}

Equivalent changes are not counted:

${EQUIVALENT.map(([file, code, replacement, reason]) => `- \`${file}\`: \`${code}\` -> \`${replacement}\`. ${reason}`).join("\n")}
`;
  process.stdout.write(`${alive.join("\n")}\n${page}`);
  if (chosen.length === 0) writeFileSync(new URL("mutation.md", import.meta.url), page);
}
