/**
 * `npm run mutation`: Stryker changes the code in small ways, and each change should make a test fail. Writes bench/mutation.md.
 *
 *     npm run mutation                                             every 60th line of every folder
 *     npm run mutation -- --every 1 backend/admission rules/quote  every line of these; only prints the page
 */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { describeMachine } from "./machine.ts";

/** Folders whose code is changed, and the tests that run for it. Stryker runs those of them that reach a change. */
const PARTS = [
  { folders: ["rules", "protocol"], tests: "{rules,protocol}/**/*" },
  { folders: ["edge"], tests: "edge/**/*" },
  { folders: ["backend/admission"], tests: "backend/admission/*" },
  {
    folders: ["backend/http"],
    tests: "backend/{http,over-http}/{*body*,caller-metrics,connections,delivery,observability,routes,waiting-renders}",
  },
  {
    folders: ["backend/render"],
    tests: "backend/{render,over-http}/{archive,*failures,failed-renders,formats,outcome,page-*,svg-*,time-*,delivery}",
  },
  { folders: ["backend/sandbox"], tests: "backend/sandbox/*" },
] as const;

/** Types, published texts, and what only tests of another folder run. */
const UNCHANGED = [
  "**/*.d.ts",
  "rules/{rule-ids,conformance-vectors,constraints}.ts",
  "edge/{containers,standalone}/**",
  "edge/worker*.ts",
];
/** These run Python, count work or wait for minutes; a change that survives runs every test that reaches it. */
const LEFT_OUT = "test/**/{key-pattern-elsewhere,work-of-validation,vectors-catch-mistakes,waiting-text}.test.ts";
const GOAL_PERCENT = 90;
const DEFAULT_EVERY = "60";
/** How many times fewer samples property tests take. */
const PROPERTY_RUNS_DIVISOR = "40";
/** A change whose tests take this much longer than without it counts as endless. */
const TIMEOUT_MILLISECONDS = 30_000;
const DRY_RUN_TIMEOUT_MINUTES = 30;

/** Changes that alter no behaviour: the file, the code, what replaces it, and why nobody can notice. */
const EQUIVALENT: readonly (readonly [file: string, code: string, replacement: string, reason: string])[] = [
  [
    "backend/admission/render-queue.ts",
    'waiter.settle({ kind: "full" })',
    "{}",
    "Whatever is neither admitted nor has left counts as full.",
  ],
  [
    "backend/admission/render-queue.ts",
    "left.running < right.running",
    "left.running <= right.running",
    "They differ.",
  ],
  [
    "backend/http/read-body.ts",
    "collector.free()",
    "",
    "The memory is free at the next garbage collection at the latest.",
  ],
  [
    "backend/http/delivery.ts",
    "response.destroyed || socket.destroyed",
    "response.destroyed",
    "Only a Node before 26 keeps a response that waits behind another when their connection closes.",
  ],
  [
    "backend/http/delivery.ts",
    "response.destroyed || socket.destroyed",
    "socket.destroyed",
    "A response is destroyed with its socket.",
  ],
];

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
async function changesOf(files: readonly string[], tests: string): Promise<Change[]> {
  const results = await new Stryker({
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    // Tests in workerd do not import what they test.
    vitest: { related: false, pool: "forks" },
    mutate: every === 1 ? [...files] : sampledLines(files),
    // Ids are typed by unions, so the compiler finds a wrong one; the other strings are prose.
    mutator: { plugins: null, excludedMutations: ["StringLiteral"] },
    testFiles: globSync(`test/${tests}.test.ts`, { exclude: [LEFT_OUT] }),
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

/** Every n-th line of all files together, in the notation of Stryker. */
function sampledLines(files: readonly string[]): string[] {
  const lines = files.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .map((_, index) => `${file}:${index + 1}-${index + 1}`),
  );
  return lines.filter((_, index) => index % every === 0);
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
