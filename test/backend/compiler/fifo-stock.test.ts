/** The stock of FIFOs, with the real launcher and the real mkfifo. */
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { FifoStock } from "../../../backend/compiler/fifo-stock.ts";
import { Launcher } from "../../../backend/launcher/launcher.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

async function openStock({ mkfifoPath = "mkfifo", timeoutMilliseconds = 60_000 } = {}) {
  const workDirectory = await makeTemporaryFolder("fifo-stock-test-");
  const launcher = new Launcher({ workDirectory, mkfifoPath: "mkfifo", maxConcurrentRenders: 1, warmRenders: 0 });
  onTestFinished(() => launcher.close());
  return { stock: new FifoStock({ workDirectory, mkfifoPath }, launcher, timeoutMilliseconds), workDirectory };
}

/** Takes `count` FIFOs into one folder. */
async function takeInto(folder: string, stock: FifoStock, count: number): Promise<(string | null)[]> {
  await mkdir(folder, { recursive: true });
  return Promise.all(Array.from({ length: count }, () => stock.moveInto(folder)));
}

it("gives every taker its own FIFO, accessible only to this user, with a name that cannot be guessed", async () => {
  const { stock, workDirectory } = await openStock();
  const folder = join(workDirectory, "taken");
  const names: (string | null)[] = [];
  for (let round = 0; round < 5; round++) names.push(...(await takeInto(folder, stock, 40)));
  expect(names.every((name) => name !== null && /^:[0-9a-f]{32}$/.test(name))).toBe(true);
  expect(new Set(names).size).toBe(200);
  expect((await readdir(folder)).toSorted()).toEqual(names.toSorted());
  const [first] = await readdir(folder);
  const status = await stat(join(folder, first ?? ""));
  expect([status.isFIFO(), status.mode & 0o777]).toEqual([true, 0o600]);
});

it.each([
  ["fails", "exit 1", 60_000],
  ["hangs, and kills it", "exec sleep 600", 200],
  ["is missing", "", 60_000],
])("has none where mkfifo %s, and does not try again for a while", async (_what, end, timeoutMilliseconds) => {
  const folder = await makeTemporaryFolder("fifo-stock-test-");
  const mkfifoPath = join(folder, "mkfifo");
  if (end !== "") await writeFile(mkfifoPath, `#!/bin/sh\necho run >> '${folder}/runs'\n${end}\n`, { mode: 0o755 });
  const { stock, workDirectory } = await openStock({ mkfifoPath, timeoutMilliseconds });
  for (let round = 0; round < 3; round++) {
    expect(await takeInto(join(workDirectory, "taken"), stock, 3)).toEqual([null, null, null]);
  }
  // It may have been killed before it began.
  expect(["run\n", null]).toContain(await readFile(join(folder, "runs"), "utf8").catch(() => null));
});

it("makes new ones where somebody has removed those that were there", async () => {
  const { stock, workDirectory } = await openStock();
  const folder = join(workDirectory, "taken");
  expect(await takeInto(folder, stock, 1)).not.toContain(null);
  await rm(join(workDirectory, "fifos"), { recursive: true });
  expect(await takeInto(folder, stock, 1)).toEqual([null]);
  expect(await takeInto(folder, stock, 1)).not.toContain(null);
});

it("keeps those that were there where the folder that they are for is gone", async () => {
  const { stock, workDirectory } = await openStock();
  await takeInto(join(workDirectory, "taken"), stock, 1);
  const fifos = await readdir(join(workDirectory, "fifos"));
  expect(await stock.moveInto(join(workDirectory, "gone"))).toBe(null);
  expect(fifos).toContain((await stock.moveInto(join(workDirectory, "taken")))?.slice(1));
});
