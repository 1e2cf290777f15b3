/** `npm test`: runs vitest with its own temporary folder, and fails if anything is left behind when it has ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STOP_SIGNALS } from "../scripts/start/local-service.ts";
import { leftBehind, projectFiles, type Surroundings } from "./left-behind.ts";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));
const VITEST = join(PROJECT, "node_modules/vitest/vitest.mjs");
/** Tests start the same programs hundreds of times. Most of such a start is to compile what has been compiled before. */
const COMPILED = join(PROJECT, "node_modules/.cache/compiled-javascript");

/** By `npm test -- service`, without the page and the command line, which a change of the service seldom reaches. */
const SERVICE_ALONE = ["--exclude", "test/clients/{command-line,playground}/**"];
const named = process.argv.slice(2).flatMap((name) => (name === "service" ? SERVICE_ALONE : [name]));

const surroundings: Surroundings = {
  // A short name, because it contains sockets, and a socket address has room for about a hundred bytes.
  temporaryFolder: await realpath(await mkdtemp(join(tmpdir(), "render-tests-"))),
  projectFolder: PROJECT,
  filesBefore: projectFiles(PROJECT),
};
const begun = performance.now();
const vitest = spawn(process.execPath, [VITEST, "run", ...named], {
  cwd: PROJECT,
  env: { NODE_COMPILE_CACHE: COMPILED, ...process.env, TMPDIR: surroundings.temporaryFolder },
  stdio: "inherit",
});
let isInterrupted = false;
for (const signal of STOP_SIGNALS) {
  process.on(signal, () => {
    isInterrupted = true;
    vitest.kill(signal);
  });
}
const [exitCode] = await once(vitest, "close");
process.exitCode = exitCode ?? 1;
const seconds = (performance.now() - begun) / 1000;

const left = await leftBehind(surroundings, isInterrupted);
await rm(surroundings.temporaryFolder, { recursive: true, force: true });
if (named.length === 0) await recordSeconds();
if (left.length > 0) {
  process.stderr.write(`The tests have left something behind:\n${left.map((line) => `  ${line}\n`).join("")}`);
  process.exitCode ||= 1;
}

/** For `npm run figures`. */
async function recordSeconds(): Promise<void> {
  await mkdir(join(PROJECT, "out"), { recursive: true });
  await writeFile(join(PROJECT, "out", "test-seconds"), `${seconds.toFixed(0)}\n`);
}
