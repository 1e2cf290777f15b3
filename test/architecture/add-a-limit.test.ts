/**
 * Follows the recipe "A limit" of docs/architecture.md: in a copy of the project with one more limit and no other change,
 * the checks name exactly the files that the recipe says they name.
 */
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED = [
  ..."rules protocol compile machine client data-schema e-invoice cli playground edge backend scripts bench test static deploy docs".split(
    " ",
  ),
  ...["examples", "README.md", "package.json", "tsconfig.json", "vitest.config.ts"],
];
const LIMITS = "rules/limits.ts";
const MADE_UP_LIMIT = `
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
`;

let copy: string;

beforeAll(async () => {
  copy = await realpath(await mkdtemp(join(tmpdir(), "add-a-limit-")));
  for (const path of COPIED) cpSync(join(PROJECT, path), join(copy, path), { recursive: true });
  await symlink(join(PROJECT, "node_modules"), join(copy, "node_modules"));
  const limits = await readFile(join(copy, LIMITS), "utf8");
  const start = "export const LIMIT_SETTINGS = {";
  expect(limits).toContain(start);
  await writeFile(join(copy, LIMITS), limits.replace(start, start + MADE_UP_LIMIT));
});

afterAll(() => rm(copy, { recursive: true, force: true }));

function run(script: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: copy, encoding: "utf8" });
  return stdout + stderr;
}

/** Everything but the edge and its tests, which have types of their own, as one program, which is faster than one program per folder as in `npm run check`. */
const ALL_IN_ONE = {
  extends: "./test/tsconfig.json",
  include: "rules protocol compile machine client data-schema e-invoice cli playground backend scripts bench test"
    .split(" ")
    .map((folder) => `${folder}/**/*.ts`),
  exclude: ["test/edge"],
};

/** The files in which the compiler finds errors. */
async function namedByTsc(): Promise<Set<string>> {
  await writeFile(join(copy, "tsconfig.all.json"), JSON.stringify(ALL_IN_ONE));
  const output = run(join(PROJECT, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.all.json");
  return new Set(Array.from(output.matchAll(/^(\S+)\(\d+,\d+\): error TS/gm), ([, file = ""]) => file));
}

function namedByGeneratedCheck(): Set<string> {
  const output = run(join(copy, "scripts/generate.ts"), "--check");
  return new Set(Array.from(output.matchAll(/^stale: (.+)$/gm), ([, path = ""]) => path.slice(copy.length + 1)));
}

/** The recipe, and the part of it for a limit on the request. */
async function recipe(): Promise<{ whole: string; onRequest: string }> {
  const page = await readFile(join(PROJECT, "docs/architecture.md"), "utf8");
  const [, section = ""] = page.split("\n### A limit\n");
  const [whole = ""] = section.split("\n### ");
  const [onRequest = ""] = whole.split("\nA limit on the output:\n");
  return { whole, onRequest };
}

/** The files in these tables, by the check that names them. */
function filesIn(tables: string): Map<string, Set<string>> {
  const files = new Map<string, Set<string>>();
  for (const [, named = "", check = ""] of tables.matchAll(/^\| (`[^|]+`) \|.*\| (?:`([^`]+)`|-) \|$/gm)) {
    const ofCheck = files.get(check) ?? new Set();
    for (const [, file = ""] of named.matchAll(/`([^`]+)`/g)) ofCheck.add(file);
    files.set(check, ofCheck);
  }
  return files;
}

it("the checks name every file that the recipe says they name, and no other", async () => {
  const expected = filesIn((await recipe()).whole);
  expect([...expected.keys()].toSorted()).toEqual(["", "check:generated", "tsc"]);
  expect(await namedByTsc()).toEqual(expected.get("tsc"));
  expect(namedByGeneratedCheck()).toEqual(expected.get("check:generated"));
});

it("the recipe's other files exist", async () => {
  for (const file of filesIn((await recipe()).whole).get("") ?? []) await readFile(join(PROJECT, file));
});

it("a limit on the request takes at most seven files by hand, and the changelog", async () => {
  const { tsc = [], "": others = [] } = Object.fromEntries(filesIn((await recipe()).onRequest));
  expect(new Set([...tsc, ...others]).size).toBeLessThanOrEqual(7);
});
