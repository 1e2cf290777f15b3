/** `npm run example`: an example by its name, and what it says without one. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { commandEnvironment } from "../support/clients/command-line.ts";
import { sharedService } from "../support/service/test-service.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { API_TOKEN } from "../support/tokens.ts";

const PROGRAM = fileURLToPath(new URL("../../scripts/example.ts", import.meta.url));
const service = await sharedService();

async function runExample(folder: string, ...names: string[]) {
  const env = { SERVICE_URL: service.edge.url.origin, SERVICE_API_TOKENS: API_TOKEN };
  return execa(process.execPath, [PROGRAM, ...names], {
    cwd: folder,
    env: commandEnvironment(folder, env),
    extendEnv: false,
    reject: false,
  });
}

it("npm run example writes an example below out/", async () => {
  const folder = await makeTemporaryFolder("example-");
  const { exitCode, stderr } = await runExample(folder, "invoice");
  expect([exitCode, stderr, await readdir(join(folder, "out"))]).toEqual([0, "", ["invoice-TH-2026-0417.pdf"]]);
  expect(await readFile(join(folder, "out/invoice-TH-2026-0417.pdf"), "latin1")).toMatch(/^%PDF-/);
});

it.each([[], ["nothing"]])("npm run example names the examples if there is none of the name: %j", async (...names) => {
  const { exitCode, stderr } = await runExample(await makeTemporaryFolder("example-"), ...names);
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^Name an example: .*invoice \| /)]);
});
