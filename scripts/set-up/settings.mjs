/** Checks the settings with the service's own code, which is TypeScript and needs a Node that runs it. */
import path from "node:path";
import { PROJECT_FOLDER, SERVICE_NODE } from "./packages.mjs";
import { runCommand } from "./run-command.mjs";

const PROGRAM = path.join(PROJECT_FOLDER, "scripts", "set-up", "check-settings.ts");

/** Whether this Node runs TypeScript, as Node does from 22.18 on. The types of `process.features` assume it. */
const { typescript } = /** @type {Readonly<Record<string, unknown>>} */ (/** @type {unknown} */ (process.features));

/** @param {boolean} hasPackages which bring a Node that can check settings @param {AbortSignal} signal */
export async function settingProblems(hasPackages, signal) {
  if (!typescript && !hasPackages) return [];
  const node = typescript ? process.execPath : SERVICE_NODE;
  const { problem, output } = await runCommand(node, ["--no-warnings", PROGRAM], { signal });
  // When the program fails, the backend reports invalid settings at its start.
  return problem === undefined ? output.filter((line) => line.startsWith("SERVICE_")) : [];
}
