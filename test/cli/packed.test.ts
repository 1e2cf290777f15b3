/** The package of the command line client, installed in a fresh project without a network. */
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { commandEnvironment, writeProject } from "../support/command-line.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** npm would keep compiled code in the temporary folder. */
const NO_COMPILE_CACHE = { NODE_DISABLE_COMPILE_CACHE: "1" };

it("installs without dependencies and runs: an error has its line, and its files are its own", async () => {
  const folder = await makeTemporaryFolder("packed-");
  const npm = (cwd: string, ...args: string[]) =>
    execa("npm", args, {
      cwd,
      env: {
        ...commandEnvironment(folder),
        ...NO_COMPILE_CACHE,
        npm_config_cache: join(folder, "npm"),
        npm_config_offline: "true",
      },
      extendEnv: false,
    });
  await execa(process.execPath, [join(PROJECT, "scripts/build-cli.ts"), join(folder, "built")], { cwd: PROJECT });
  await npm(folder, "pack", join(folder, "built"), "--pack-destination", folder);
  const [archive = ""] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  await writeProject(folder, { "fresh/package.json": '{"private": true}', "fresh/a.typ": `${"\n".repeat(11)}#oops` });
  const fresh = join(folder, "fresh");
  await npm(fresh, "install", join(folder, archive));
  expect((await readdir(join(fresh, "node_modules"))).filter((name) => !name.startsWith("."))).toEqual([
    "document-rendering",
  ]);
  const command = (...args: string[]) =>
    execa(join(fresh, "node_modules/.bin/document-rendering"), args, {
      cwd: fresh,
      // The directory of this Node first: the command begins with `#!/usr/bin/env node`.
      env: { ...commandEnvironment(folder), PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
      extendEnv: false,
      reject: false,
    });
  const { version } = JSON.parse(await readFile(join(PROJECT, "package.json"), "utf8"));
  expect((await command("--version")).stdout).toBe(version);
  const checked = await command("check", "a.typ");
  expect(checked.stderr).toContain("a.typ:12:1");
  expect(checked.exitCode).toBe(4);
});

it("runs in a checkout by npx", async () => {
  const { stdout } = await execa("npx", ["--no-install", "document-rendering", "--version"], {
    cwd: PROJECT,
    env: NO_COMPILE_CACHE,
  });
  expect(stdout).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+$/);
});
