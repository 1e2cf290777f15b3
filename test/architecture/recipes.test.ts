/**
 * Follows the recipes of docs/architecture.md: in a copy of the project with one more limit, option and so on, and no
 * other change, the checks name exactly the files that the recipes say they name.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = [
  ..."rules protocol typst clients edge server backend scripts bench test static deploy docs".split(" "),
  ...["examples", "README.md", "package.json", "tsconfig.json", "vitest.config.ts", "biome.json", ".env.example"],
];

/** What is added after some texts of a file, by file. */
type Addition = Readonly<Record<string, Readonly<Record<string, string>>>>;

const ADDITIONS: Readonly<Record<string, Addition>> = {
  "A limit": {
    "rules/limits.ts": {
      "export const LIMIT_SETTINGS = {": `
  max_data_bytes: {
    setting: "SERVICE_MAX_DATA_BYTES",
    unit: "bytes",
    field: "data",
    appliesTo: "\`data\` as JSON text",
    code: "request_too_large",
    default: MEBIBYTE,
    min: 1,
    max: 64 * MEBIBYTE,
  },
`,
    },
  },
  "An output rule": {
    "rules/problem.ts": { "export type OutputRuleId =": '\n  | "made_up"' },
    "rules/output-rules.ts": {
      "export const OUTPUT_RULES: readonly OutputRule[] = [": `
  rule("made_up", "pages", "It is made up.", () => false),
`,
    },
  },
  "An output option": {
    "rules/output-options.ts": {
      'png: v.object({\n    format: v.literal("png"),':
        '\n    madeUp: v.optional(v.nullable(v.picklist(["a"])), null),',
    },
  },
  "An error code": {
    "rules/problem.ts": {
      "export interface ProblemContexts {": "\n  made_up: { readonly limit: number };",
      "export const PROBLEMS = {": `
  made_up: { status: 400, origin: "request", title: "Made up", context: ["limit"], meaning: "It is made up." },
`,
    },
  },
  "A cause of a 429": {
    "rules/causes.ts": {
      "  render_queue_full: {": '\n    made_up: "It is made up.",',
      '    rate_limit: "the rate limit",': '\n    made_up: "what is made up",',
      "export const NEXT_STEPS: Readonly<Record<Cause | AttemptFailure, string>> = {": '\n  made_up: "Make it up.",',
    },
  },
  "A setting": {
    "backend/settings.ts": {
      "export const BACKEND_INTEGER_SETTINGS = {": `
  madeUp: { setting: "SERVICE_MADE_UP", default: 1, min: 0, max: 2, meaning: "what is made up" },
`,
    },
  },
};

let copy: string;

beforeAll(async () => {
  copy = await realpath(await mkdtemp(join(tmpdir(), "recipes-")));
  for (const path of COPIED) cpSync(join(PROJECT, path), join(copy, path), { recursive: true });
  await symlink(join(PROJECT, "node_modules"), join(copy, "node_modules"));
});

/** Makes this one addition to the copy. */
async function add(addition: Addition): Promise<void> {
  for (const [file, after] of Object.entries(addition)) {
    let text = await readFile(join(copy, file), "utf8");
    for (const [start, added] of Object.entries(after)) {
      expect(text).toContain(start);
      text = text.replace(start, start + added);
    }
    await writeFile(join(copy, file), text);
    onTestFinished(() => cpSync(join(PROJECT, file), join(copy, file)));
  }
}

afterAll(() => rm(copy, { recursive: true, force: true }));

function run(script: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: copy, encoding: "utf8" });
  return stdout + stderr;
}

/**
 * Everything but the edge and its tests, which have types of their own, as one program, which is faster than one
 * program per folder as in `npm run check`.
 */
const ALL_IN_ONE = {
  extends: "./test/tsconfig.json",
  include: "rules protocol typst server clients backend scripts bench test"
    .split(" ")
    .map((folder) => `${folder}/**/*.ts`),
  exclude: ["test/edge"],
};

/** The files in which the compiler finds errors. */
async function namedByTsc(): Promise<Set<string>> {
  await writeFile(join(copy, "tsconfig.all.json"), JSON.stringify(ALL_IN_ONE));
  const tsc = join(PROJECT, "node_modules/typescript/bin/tsc");
  const output = ["tsconfig.all.json", "edge"].map((project) => run(tsc, "-p", project)).join("\n");
  return new Set(Array.from(output.matchAll(/^(\S+)\(\d+,\d+\): error TS/gm), ([, file = ""]) => file));
}

function namedByGeneratedCheck(): Set<string> {
  const output = run(join(copy, "scripts/generate.ts"), "--check");
  return new Set(Array.from(output.matchAll(/^stale: (.+)$/gm), ([, path = ""]) => path.slice(copy.length + 1)));
}

/** The recipe of that title. */
async function recipe(title: string): Promise<string> {
  const page = await readFile(join(PROJECT, "docs/architecture.md"), "utf8");
  const [, section = ""] = page.split(`\n### ${title}\n`);
  return section.split(/\n##/)[0] ?? "";
}

/** The files in these tables, by the check that names them. */
function filesIn(tables: string): Map<string, Set<string>> {
  const files = new Map<string, Set<string>>();
  for (const [, named = "", byName, byTests, check = byName ?? byTests ?? ""] of tables.matchAll(
    /^\| (`[^|]+`) \|.*\| (?:`([^`]+)`|(tests)|-) \|$/gm,
  )) {
    const ofCheck = files.get(check) ?? new Set();
    for (const [, file = ""] of named.matchAll(/`([^`]+)`/g)) ofCheck.add(file);
    files.set(check, ofCheck);
  }
  return files;
}

// All at once, because the checks read everything each time. They name no file because of two of them.
it("the checks name every file that the recipes say they name, and no other", async () => {
  const expected = filesIn((await Promise.all(Object.keys(ADDITIONS).map(recipe))).join("\n"));
  for (const addition of Object.values(ADDITIONS)) await add(addition);
  expect(await namedByTsc()).toEqual(expected.get("tsc"));
  expect(namedByGeneratedCheck()).toEqual(expected.get("check:generated"));
});

it.each(Object.keys(ADDITIONS))("%s: the recipe's other files exist", async (title) => {
  const files = filesIn(await recipe(title));
  expect(files.size).toBeGreaterThan(0);
  for (const [check, named] of files) {
    expect(["", "check:generated", "tests", "tsc"]).toContain(check);
    for (const file of named) await readFile(join(PROJECT, file));
  }
});

it("anything else begins in files and folders that exist", async () => {
  const paths = [...(await recipe("Anything else")).matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(PROJECT, path)))).toEqual(["cases/"]);
});
