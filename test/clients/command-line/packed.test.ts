/** The command line client as it is built: what an old Node makes of it, and where Node keeps it. service/clients.test.ts installs it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { commandEnvironment, PROGRAM, writeProject } from "../../support/clients/command-line.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
/** npm would keep compiled code in the temporary folder. */
const NO_COMPILE_CACHE = { NODE_DISABLE_COMPILE_CACHE: "1" };

describe("on a Node that is too old", () => {
  it("says so in one sentence", async () => {
    const old = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.19.0" });';
    for (const entry of [PROGRAM, join(PROJECT, "clients/command-line/start.mjs")]) {
      const run = await execa(process.execPath, ["--import", old, entry, "--version"], { reject: false });
      expect(run.stderr).toBe(
        "document-rendering needs Node 22.12 or newer, and this is Node 20.19.0: install a newer one from https://nodejs.org, or, if npm has installed the command in a folder of yours, run npm install node@24 there.",
      );
      expect(run.stdout).toBe("");
      expect(run.exitCode).toBe(2);
    }
  });

  it("loads nothing that an old Node cannot parse before it checks the version", async () => {
    for (const entry of [PROGRAM, join(PROJECT, "clients/command-line/start.mjs")]) {
      const text = await readFile(entry, "utf8");
      expect(text).not.toMatch(/^import /m);
      // The syntax of Node 14 is written as it is.
      const [asItIs, forNode14] = await Promise.all(
        ["esnext", "node14"].map((target) => transform(text, { target, minify: true })),
      );
      expect(forNode14?.code).toBe(asItIs?.code);
    }
  });
});

describe("what Node makes of the program", () => {
  it("is kept in the user's own cache, where one can be written, and nobody reads of it", async () => {
    const folder = await makeTemporaryFolder("compiled-");
    await writeProject(folder, { file: "" });
    for (const cache of ["cache", "file/cache"]) {
      const env = { ...commandEnvironment(folder), NODE_COMPILE_CACHE: "", XDG_CACHE_HOME: join(folder, cache) };
      const run = await execa(process.execPath, [PROGRAM, "render", "--help"], { env, extendEnv: false });
      expect(run.stderr).toBe("");
    }
    expect(await readdir(join(folder, "cache/document-rendering-service"))).toEqual(["compiled"]);
    expect((await readdir(folder)).sort()).toEqual(["cache", "file"]);
  });
});

it("runs in a checkout by npx", async () => {
  const { stdout } = await execa("npx", ["--no-install", "document-rendering", "--version"], {
    cwd: PROJECT,
    env: NO_COMPILE_CACHE,
  });
  expect(stdout).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+$/);
});
