/**
 * What a fresh clone needs before `npm start` (`set-up.mjs run`), and before everything else, such as `npm test`. It runs before node_modules exists, on the Node of the
 * machine: so here and in all imports there are only node:* modules and no syntax that Node 14 lacks, or an old Node
 * would print a syntax error.
 */
import { constants } from "node:os";
import { cacheFolder } from "../typst/cache-folder.mjs";
import { locateTypst } from "../typst/program-location.mjs";
import { TYPST_VERSION } from "../typst/typst-release.mjs";
import { libraryObstacle } from "./set-up/libraries.mjs";
import { ensurePackages, PROJECT_FOLDER, packagesAreCurrent } from "./set-up/packages.mjs";
import { failOnProblems, SetUpError, say } from "./set-up/report.mjs";
import { sandboxProblem } from "./set-up/sandbox.mjs";
import { settingProblems } from "./set-up/settings.mjs";
import { ensureCachedTypst, typstObstacle } from "./set-up/typst.mjs";

/** The oldest Node with every function that the set-up calls. The service itself runs on a newer one. */
const OLDEST_NODE_MAJOR = 20;

await main();

async function main() {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < OLDEST_NODE_MAJOR) {
    const wanted = `the set-up needs Node ${OLDEST_NODE_MAJOR} or newer`;
    return fail(`This is Node ${node}, and ${wanted}: install one (https://nodejs.org) and run it again.`);
  }
  // A signal aborts the current step, and every `finally` cleans up.
  const interruption = new AbortController();
  let exitCode = 1;
  for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(name, () => {
      exitCode = 128 + constants.signals[name];
      interruption.abort();
    });
  }
  try {
    await setUp(interruption.signal);
  } catch (error) {
    // After an interruption, the error of the step that was stopped means nothing.
    if (interruption.signal.aborted) fail("Interrupted. Run it again to finish.", exitCode);
    else fail(failureMessage(error));
  }
}

/** @param {AbortSignal} signal */
async function setUp(signal) {
  const packages = process.argv[2] === "run" ? "run" : "all";
  const located = await locateTypst();
  const needsTypst = "error" in located && located.reason === "not_found";
  const needsPackages = !(await packagesAreCurrent(packages));
  const hasLongStep = needsPackages || needsTypst;
  // All problems together, and before the steps that take minutes, so that one run reports everything.
  failOnProblems([
    "error" in located && !needsTypst ? located.error : undefined,
    ...(hasLongStep ? await settingProblems(!needsPackages, signal) : []),
    await sandboxProblem(signal, hasLongStep),
    needsPackages ? libraryObstacle() : undefined,
    needsTypst ? await typstObstacle(signal) : undefined,
  ]);
  await ensurePackages(packages, signal);
  if (needsTypst && needsPackages) failOnProblems(await settingProblems(true, signal));
  const typst = "path" in located ? located.path : await ensureCachedTypst(signal);
  say(`ready (Typst ${TYPST_VERSION}: ${typst})`);
}

/** @param {unknown} error */
function failureMessage(error) {
  if (error instanceof SetUpError) return error.message;
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `It failed: ${reason}. It must be able to write to ${PROJECT_FOLDER} and to ${cacheFolder()} ` +
    "(XDG_CACHE_HOME moves the latter). Fix that and run it again."
  );
}

/** @param {string} message */
function fail(message, exitCode = 1) {
  process.stderr.write(`set-up: ${message}\n`);
  process.exitCode = exitCode;
}
