/** `npm run example`: the examples, and any other folder. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { commandEnvironment, writeProject } from "../support/clients/command-line.ts";
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

it.each([
  ["an example by its name", "invoice", "invoice-TH-2026-0417.pdf"],
  ["a folder with a request.json", "mine", "page.png"],
  ["a folder with a main.typ", "plain", "plain.pdf"],
])("npm run example writes %s below out/", async (_what, name, file) => {
  const folder = await makeTemporaryFolder("example-");
  await writeProject(folder, {
    "mine/request.json": '{"source": {"$file": "a.typ"}, "output": {"format": "png", "filename": "page"}}',
    "mine/a.typ": "Mine",
    "plain/main.typ": "Plain",
  });
  const { exitCode, stderr } = await runExample(folder, name);
  expect(exitCode, stderr).toBe(0);
  expect(await readdir(join(folder, "out"))).toEqual([file]);
  expect((await readFile(join(folder, "out", file))).length).toBeGreaterThan(500);
});

it.each([[], ["nothing"], [""]])(
  "npm run example names the examples if the folder is not one: %j",
  async (...names) => {
    const { exitCode, stderr } = await runExample(await makeTemporaryFolder("example-"), ...names);
    expect(stderr).toMatch(/^Name an example or a folder with a request\.json or a main\.typ: .*invoice \| /);
    expect(exitCode).toBe(1);
  },
);
