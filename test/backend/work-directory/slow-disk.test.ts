/** Files on a disk that takes milliseconds for each: whoever writes them gives way to everybody else. */
import fileSystem from "node:fs";
import { readdir } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { expect, it, onTestFinished } from "vitest";
import { TimeLimit } from "../../../backend/render/render-time.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { limitsFrom } from "../../../rules/limits.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { textFile } from "../../support/backend/request-files.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const DISK_MILLISECONDS = 2;
/** In five milliseconds. */
const CALLS_PER_TURN = 3;
const MANY = 256;

let diskCalls = 0;

/** From now on, each of these calls takes so long, as on such a disk. */
function slowDown(...names: readonly ("writeFileSync" | "mkdirSync" | "rmdirSync" | "unlinkSync")[]): void {
  const { ...real } = fileSystem;
  for (const name of names) {
    Object.assign(fileSystem, {
      [name]: (...parameters: unknown[]) => {
        diskCalls++;
        for (const until = performance.now() + DISK_MILLISECONDS; performance.now() < until; );
        return Reflect.apply(real[name], fileSystem, parameters);
      },
    });
  }
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const name of names) Object.assign(fileSystem, { [name]: real[name] });
    syncBuiltinESMExports();
  });
}

function requestOf(keys: readonly string[]) {
  const files = Object.fromEntries(keys.map((key) => [key, textFile("x")]));
  const body = Buffer.from(JSON.stringify({ source: "x", files }));
  const limits = limitsFrom({ ...readBackendSettings({}).limits, max_inline_files: MANY });
  const parsed = parseRenderRequest(body, limits);
  if (!parsed.ok) throw new Error(parsed.problem.detail);
  return { body, request: parsed.request };
}

async function makeDirectory(): Promise<RenderDirectory> {
  const directory = await RenderDirectory.create(await makeTemporaryFolder("slow-disk-test-"), false);
  onTestFinished(() => directory.remove());
  return directory;
}

const manyKeys = Array.from({ length: MANY }, (_, index) => `f${index}`);

/** How many calls the disk has served, at most, between two turns of the event loop. */
async function longestRun(work: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let before = diskCalls;
  let longest = 0;
  const look = () => {
    longest = Math.max(longest, diskCalls - before);
    before = diskCalls;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return longest;
}

it("many files are written, and others are answered meanwhile", async () => {
  const directory = await makeDirectory();
  const { body, request } = requestOf(manyKeys);
  slowDown("writeFileSync");
  const run = await longestRun(() => directory.fill(body, request, new AbortController().signal));
  expect(await readdir(directory.root)).toHaveLength(MANY + 1);
  // The data are one more, and the first turn has begun before.
  expect(run).toBeLessThanOrEqual(CALLS_PER_TURN + 2);
});

it("renders that write at the same time take turns", async () => {
  const directories = await Promise.all(Array.from({ length: 8 }, makeDirectory));
  const { body, request } = requestOf(manyKeys.slice(0, 32));
  slowDown("writeFileSync");
  const fill = (directory: RenderDirectory) => directory.fill(body, request, new AbortController().signal);
  const run = await longestRun(() => Promise.all(directories.map(fill)));
  // Each has a first turn at once.
  expect(run).toBeLessThanOrEqual(8 * (CALLS_PER_TURN + 2));
});

it("a render ends in time while its files are written", async () => {
  const directory = await makeDirectory();
  const { body, request } = requestOf(manyKeys);
  slowDown("writeFileSync");
  const time = new TimeLimit(readBackendSettings({}), new AbortController().signal, 0.05);
  const failure = await time.limitFill((over) => directory.fill(body, request, over));
  expect(failure).toMatchObject({ kind: "refused", problem: { cause: "time_budget" } });
  expect((await readdir(directory.root)).length).toBeLessThan(MANY);
});

it("folders are made, and what was written is removed for the next render, in turns as well", async () => {
  const directory = await makeDirectory();
  const { body, request } = requestOf(Array.from({ length: 16 }, (_, index) => `d${index}/f`));
  slowDown("writeFileSync", "mkdirSync", "rmdirSync", "unlinkSync");
  const run = await longestRun(async () => {
    await directory.fill(body, request, new AbortController().signal);
    expect(await directory.keep()).toBe(true);
  });
  expect(run).toBeLessThanOrEqual(2 * CALLS_PER_TURN + 2);
});
