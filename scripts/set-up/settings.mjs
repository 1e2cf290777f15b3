/** The service's settings, read by the service's own code: TypeScript, which takes a Node that runs it. */
import path from "node:path";
import { PROJECT_FOLDER, SERVICE_NODE } from "./packages.mjs";
import { runCommand } from "./run-command.mjs";

const PROGRAM = path.join(PROJECT_FOLDER, "scripts", "check-settings.ts");

/** Whether this very Node can read them: from 22.18 on. Its types do not know of those that cannot. */
const { typescript } = /** @type {Readonly<Record<string, unknown>>} */ (/** @type {unknown} */ (process.features));

/**
 * Every setting that the service cannot use: none where there is no Node yet that can read them.
 *
 * @param {boolean} hasPackages which bring such a Node
 * @param {AbortSignal} signal
 * @returns {Promise<string[]>}
 */
export async function settingProblems(hasPackages, signal) {
  if (!typescript && !hasPackages) return [];
  const node = typescript ? process.execPath : SERVICE_NODE;
  const { problem, output } = await runCommand(node, ["--no-warnings", PROGRAM], { signal });
  // A program that fails has read nothing. The backend will, and says itself what is wrong.
  return problem === undefined ? output.filter((line) => line.startsWith("SERVICE_")) : [];
}
