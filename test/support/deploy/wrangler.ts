/**
 * wrangler as an operator runs it, in its own folder, because it writes beside its configuration. It has no account.
 */
import { symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { makeTemporaryFolder } from "../temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const NEEDED = ["Dockerfile", "edge", "node_modules", "package.json", "protocol", "rules", "scripts", "static"];

/** @param config what to write as wrangler.toml, or as wrangler.json */
export async function makeWranglerFolder(config: string | object): Promise<string> {
  const folder = await makeTemporaryFolder("wrangler-test-");
  for (const name of NEEDED) await symlink(join(PROJECT, name), join(folder, name));
  if (typeof config === "string") await writeFile(join(folder, "wrangler.toml"), config);
  else await writeFile(join(folder, "wrangler.json"), JSON.stringify(config));
  return folder;
}

/** Runs a command of wrangler; what it says, whether it succeeds or not. */
export async function runWrangler(
  folder: string,
  command: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { all } = await execa("bash", ["--norc", "-c", command], {
    cwd: folder,
    all: true,
    reject: false,
    extendEnv: false,
    env: {
      PATH: `${join(PROJECT, "node_modules/.bin")}:${dirname(process.execPath)}:/usr/bin:/bin`,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
      HOME: folder,
      TMPDIR: folder,
      WRANGLER_LOG_PATH: folder,
      WRANGLER_SEND_METRICS: "false",
      ...environment,
    },
  });
  return all;
}
