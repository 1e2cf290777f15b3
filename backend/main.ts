/**
 * The backend as a program: reads its settings, listens, and on SIGTERM or SIGINT drains and ends.
 *
 * A setting that cannot be used, a missing Typst or a port in use is one line on standard error and exit code 1.
 */
import { setTimeout as delay } from "node:timers/promises";
import { SettingError } from "../rules/settings.ts";
import { type Backend, buildBackend } from "./http/app.ts";
import { findSandboxFacts } from "./sandbox/machine-facts.ts";
import { describeObstacle } from "./sandbox/obstacle.ts";
import { openSandbox } from "./sandbox/open-sandbox.ts";
import { probeSandbox } from "./sandbox/probe.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import { type BackendSettings, readBackendSettings } from "./settings.ts";
import { Spawner } from "./spawner/spawner.ts";
import { readTypstVersion } from "./typst/version.ts";
import { prepareWorkDirectory } from "./work-directory/claim.ts";

const IDLE_POLL_MILLISECONDS = 20;
/** How long connections may take to close once no render is left. */
const CLOSE_MILLISECONDS = 2000;

let isStopping = false;

async function main(): Promise<void> {
  const settings = readBackendSettings(process.env);
  const typstVersion = await readTypstVersion(settings);
  const claim = await prepareWorkDirectory(settings);
  const spawner = await Spawner.open(settings.workDirectory);
  const release = async () => {
    // First the spawner: what it has started writes into the directory that the claim empties.
    await spawner.close();
    await claim.release();
  };
  try {
    const sandbox = await openSandbox(settings);
    await refuseLeakySandbox(settings, sandbox, spawner);
    const backend = buildBackend(settings, typstVersion, sandbox, spawner);
    await backend.app.listen({ host: settings.host, port: settings.port });
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => void drain(backend, settings, release));
  } catch (error) {
    await release();
    throw error;
  }
}

/** Lets the running renders finish, then exits: with code 0 if all finished within the grace time. */
async function drain(backend: Backend, settings: BackendSettings, release: () => Promise<void>): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  backend.startDraining();
  const deadline = performance.now() + settings.graceSeconds * 1000;
  // Until then the backend still listens: `/ready` answers 503, and new renders are refused with a problem.
  while (!backend.isIdle() && performance.now() < deadline) await delay(IDLE_POLL_MILLISECONDS);
  const isClosed = await Promise.race([
    backend.app.close().then(() => true),
    // If the backend is idle, all answers are delivered, and the connections left have no complete request.
    delay(CLOSE_MILLISECONDS, backend.isIdle(), { ref: false }),
  ]);
  await release();
  process.exit(isClosed ? 0 : 1);
}

/** Ends the start where Typst can get out of its sandbox, or does not run in it. */
async function refuseLeakySandbox(settings: BackendSettings, sandbox: Sandbox, spawner: Spawner): Promise<void> {
  if (sandbox.mode === "none") {
    process.stderr.write("WARNING: SERVICE_SANDBOX=none: a flaw in Typst would open this machine to every caller.\n");
    return;
  }
  const { compiles, escapes } = await probeSandbox(settings, sandbox, spawner);
  if (escapes.length > 0)
    throw new SettingError(`The ${sandbox.mode} sandbox does not hold: Typst ${escapes.join(", ")}.`);
  if (compiles) return;
  const obstacle = describeObstacle(await findSandboxFacts(settings, sandbox.mode));
  throw new SettingError(`Typst does not run in the ${sandbox.mode} sandbox. ${obstacle}`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${startUpMessage(error)}\n`);
  process.exit(1);
}

function startUpMessage(error: unknown): string {
  if (error instanceof SettingError) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "EADDRINUSE") return `The port is in use: ${error.message}. Set SERVICE_PORT.`;
  return `The backend cannot start: ${error.message}`;
}
