/**
 * Prometheus' own `promtool`, which tests alert rules and evaluates queries: `SERVICE_PROMTOOL`, the one on `PATH`, or
 * that of the distribution's package, which is fetched once into the user's cache (19 MB). Nothing is installed, and no
 * rights are needed.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { ensureCached } from "../../../scripts/set-up/cached-program.mjs";
import { downloadDebianPackages } from "../../../scripts/set-up/debian-packages.mjs";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { findOnPath, isExecutableFile } from "../../../typst/programs.mjs";

const FETCH_TIMEOUT_MILLISECONDS = 240_000;

/** @throws if there is none, with what to do. */
export async function locatePromtool(): Promise<string> {
  const configured = process.env.SERVICE_PROMTOOL;
  if (configured) {
    if (isExecutableFile(configured)) return configured;
    throw new Error(`SERVICE_PROMTOOL must name an executable file, not ${configured}`);
  }
  const [found] = findOnPath("promtool");
  if (found !== undefined) return found;
  const signal = AbortSignal.timeout(FETCH_TIMEOUT_MILLISECONDS);
  const program = {
    name: "promtool",
    target: join(cacheFolder(), "promtool", "promtool"),
    problem: promtoolProblem,
    make: async (workFolder: string) => {
      const [archive = ""] = await downloadDebianPackages(workFolder, ["prometheus"], signal);
      const root = join(workFolder, "root");
      await execa("dpkg-deb", ["--extract", archive, root], { stdin: "ignore" });
      return join(root, "usr", "bin", "promtool");
    },
  };
  return ensureCached(program, signal).catch((cause: unknown) => {
    const advice = "install it (Debian and Ubuntu: apt-get install prometheus) or set SERVICE_PROMTOOL";
    throw new Error(`The tests of the alerts need promtool, and it cannot be fetched: ${advice}.`, { cause });
  });
}

async function promtoolProblem(file: string): Promise<string | undefined> {
  const { failed, shortMessage } = await execa(file, ["--version"], { reject: false, stdin: "ignore" });
  return failed ? shortMessage : undefined;
}

/**
 * Runs `promtool` in a temporary folder that holds these files. JSON is YAML, so an object is written as JSON.
 *
 * @param input its standard input
 * @returns how it ended, with all that it said.
 */
export async function runPromtool(
  promtool: string,
  args: readonly string[],
  files: Readonly<Record<string, string | object>>,
  input = "",
) {
  const folder = await mkdtemp(join(tmpdir(), "promtool-test-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
    }
    // It runs for seconds, a third of which it would spend on collecting garbage.
    const env = { GOGC: "400" };
    const options = { cwd: folder, env, all: true, reject: false, input } as const;
    const { failed, all } = await execa(promtool, args, options);
    return { succeeded: !failed, output: all };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
