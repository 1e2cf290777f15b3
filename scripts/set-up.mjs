/**
 * Everything that a fresh clone needs before `npm start` and `npm test`: the npm packages (a current Node among them),
 * Typst, and bubblewrap where any user may have it. npm calls it as `prestart` and `pretest`, so a run with nothing to do must cost next to nothing.
 *
 * It runs before node_modules exists and on the machine's own Node. So this file and all that it imports have node:*
 * imports only, and no syntax or import that Node 14 lacks, or an old Node would fail with a syntax error instead of
 * the sentence that refuses it. It writes to node_modules, to .local and to the user's cache, and nowhere else.
 */
import { constants } from "node:os";
import { cacheFolder } from "../backend/cache-folder.mjs";
import { TYPST_VERSION } from "../backend/typst/release.mjs";
import { libraryObstacle } from "./set-up/libraries.mjs";
import { ensurePackages, PROJECT_FOLDER, packagesAreCurrent } from "./set-up/packages.mjs";
import { refuse, SetUpError, say } from "./set-up/report.mjs";
import { sandboxProblems } from "./set-up/sandbox.mjs";
import { settingProblems } from "./set-up/settings.mjs";
import { ensureCachedTypst, typstObstacle } from "./set-up/typst.mjs";
import { locateTypst } from "./typst-location.mjs";

/** The first that has all that the set-up calls; the service itself runs on a newer one. */
const OLDEST_NODE_MAJOR = 20;

await main();

async function main() {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) < OLDEST_NODE_MAJOR) {
    const wanted = `the set-up needs Node ${OLDEST_NODE_MAJOR} or newer`;
    return fail(`This is Node ${node}, and ${wanted}: install one (https://nodejs.org) and run it again.`);
  }
  const interruption = new AbortController();
  const exitCode = endOnSignals(interruption);
  try {
    await setUp(interruption.signal);
  } catch (error) {
    // What a step says that was told to stop is noise.
    if (interruption.signal.aborted) fail("Interrupted. Run it again to finish.", exitCode());
    else fail(failureMessage(error));
  }
}

/** @param {AbortSignal} signal */
async function setUp(signal) {
  const located = await locateTypst();
  const needsTypst = "error" in located && located.reason === "not_found";
  const needsPackages = !(await packagesAreCurrent());
  const hasLongStep = needsPackages || needsTypst;
  // All at once, and before the steps that take minutes: nobody should wait for npm or cargo to hear of the next thing.
  refuse([
    "error" in located && !needsTypst ? located.error : undefined,
    ...(hasLongStep ? await settingProblems(!needsPackages, signal) : []),
    ...(await sandboxProblems(signal, hasLongStep)),
    needsPackages ? libraryObstacle() : undefined,
    needsTypst ? await typstObstacle(signal) : undefined,
  ]);
  await ensurePackages(signal);
  if (needsTypst && needsPackages) refuse(await settingProblems(true, signal));
  const typst = "path" in located ? located.path : await ensureCachedTypst(signal);
  say(`ready (Typst ${TYPST_VERSION}: ${typst})`);
}

/**
 * A signal asks every step to end, and each `finally` on the way out cleans up.
 *
 * @param {AbortController} interruption
 * @returns {() => number} the exit code that tells a shell which signal it was
 */
function endOnSignals(interruption) {
  let exitCode = 1;
  for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(name, () => {
      exitCode = 128 + constants.signals[name];
      interruption.abort();
    });
  }
  return () => exitCode;
}

/** @param {unknown} error */
function failureMessage(error) {
  if (error instanceof SetUpError) return error.message;
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `It failed: ${reason}. It must be able to write to ${PROJECT_FOLDER} and to ${cacheFolder()} ` +
    "(XDG_CACHE_HOME moves the latter). See to that and run it again."
  );
}

/** @param {string} message */
function fail(message, exitCode = 1) {
  process.stderr.write(`set-up: ${message}\n`);
  process.exitCode = exitCode;
}
