/** Checks whether this machine has what SERVICE_SANDBOX needs. Only bubblewrap is downloaded, if that needs no root. */
import { locateBubblewrap } from "../../typst/program-location.mjs";
import { findOnPath } from "../../typst/programs.mjs";
import {
  AUTOMATIC_MODES,
  EMPTY_SANDBOX_ARGUMENTS,
  hasMadeEmptySandbox,
  landlockTrialArguments,
  OLDEST_UTIL_LINUX,
  parseSandboxChoice,
  SANDBOX_ADVICE,
} from "../../typst/sandbox-modes.mjs";
import { canFetchBubblewrap, ensureCachedBubblewrap } from "./bubblewrap.mjs";
import { SetUpError } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

/**
 * Why no sandbox works here.
 *
 * @param {AbortSignal} signal @param {boolean} isTried costs time, so only before steps that take longer
 */
export async function sandboxProblem(signal, isTried) {
  const choice = parseSandboxChoice(process.env.SERVICE_SANDBOX);
  if (choice === undefined) return SANDBOX_ADVICE;
  if (choice === "none") return undefined;
  const modes = choice === "auto" ? AUTOMATIC_MODES : [choice];
  const { platform } = process;
  if (platform !== "linux") {
    return (
      `Renders are sandboxed by ${modes.join(" or ")}, which ${platform} does not have. To try the service on this ` +
      "machine without a sandbox, run: SERVICE_SANDBOX=none npm start"
    );
  }
  const obstacles = [];
  for (const mode of modes) {
    const obstacle = await (mode === "landlock" ? landlockObstacle : bubblewrapObstacle)(signal, isTried);
    // At its start the backend tries both again and takes the first that works.
    if (obstacle === undefined) return undefined;
    obstacles.push(obstacle);
  }
  return obstacles.join(". The other sandbox that SERVICE_SANDBOX=auto tries does not work either: ");
}

/** @param {AbortSignal} signal @param {boolean} isTried @returns {Promise<string | undefined>} */
async function bubblewrapObstacle(signal, isTried) {
  const located = await locateBubblewrap();
  if ("path" in located) return isTried ? trialObstacle(located.path, signal) : undefined;
  if (located.reason === "wrong_setting") return located.error;
  const isMissing = "bubblewrap is missing: it sandboxes renders";
  if (!canFetchBubblewrap()) {
    return (
      `${isMissing}. Install the package bubblewrap (\`dnf install bubblewrap\`, \`pacman -S bubblewrap\`) and run this ` +
      "again, or name its binary in SERVICE_BUBBLEWRAP_BIN"
    );
  }
  try {
    return await trialObstacle(await ensureCachedBubblewrap(signal), signal);
  } catch (error) {
    if (!(error instanceof SetUpError)) throw error;
    return `${isMissing}. Install it (sudo apt-get install -y bubblewrap) and run this again, since ${error.message}`;
  }
}

/** Why bubblewrap cannot make a sandbox. @param {string} bubblewrap @param {AbortSignal} signal */
async function trialObstacle(bubblewrap, signal) {
  const { output } = await runCommand(bubblewrap, EMPTY_SANDBOX_ARGUMENTS, { signal });
  const complaint = output[output.length - 1] ?? "no output";
  if (hasMadeEmptySandbox(complaint)) return undefined;
  return `bubblewrap cannot make a sandbox on this machine (${complaint}). What it needs: docs/operations.md#sandbox`;
}

/** @param {AbortSignal} signal @param {boolean} isTried @returns {Promise<string | undefined>} */
async function landlockObstacle(signal, isTried) {
  const setpriv = process.env.SERVICE_SETPRIV_BIN || findOnPath("setpriv")[0];
  const advice =
    `SERVICE_SANDBOX=landlock needs the setpriv of ${OLDEST_UTIL_LINUX} or newer (Debian 13), on PATH or named in ` +
    "SERVICE_SETPRIV_BIN, and a kernel with Landlock";
  if (setpriv === undefined) return `${advice}: there is no setpriv`;
  if (!isTried) return undefined;
  const { problem, output } = await runCommand(setpriv, landlockTrialArguments(setpriv), { signal });
  return problem === undefined ? undefined : `${advice}: ${output[0] ?? problem}`;
}
