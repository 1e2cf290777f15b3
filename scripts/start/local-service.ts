/** The backend on this machine, as a process of its own, for `npm start` and tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LAST_STEP } from "../../backend/start/last-step.ts";
import { locateBubblewrap } from "../../typst/program-location.mjs";

export const LOOPBACK = "127.0.0.1";

export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const BACKEND_PROGRAM = fileURLToPath(new URL("../../backend/main.ts", import.meta.url));
const READY_POLL_MILLISECONDS = 25;
/** Linux gives away ports from 32768 on; browsers and `fetch` refuse some below 20000. */
const FREE_PORTS = [20_000, 32_768] as const;
const MAX_PORT_TRIES = 100;
/** How long one step of a start may take. A busy machine may take minutes for all of them. */
const STANDSTILL_MILLISECONDS = 120_000;

/** A part of the service cannot start or has ended. The message is for the operator. */
export class ServiceStartError extends Error {
  override readonly name = "ServiceStartError";
}

export interface LocalBackend {
  readonly url: URL;
  readonly process: ChildProcess;
  /** The backend's standard error so far, or its last 10,000 characters. */
  readonly errorText: () => string;
  stop(): Promise<void>;
}

/**
 * Starts the backend and waits until it is ready. It inherits only PATH and the cache of compiled code. Unless
 * `environment` names one, it gets a temporary work directory. `onErrorText` gets its standard error once it is ready.
 */
export async function startBackend(
  environment: Readonly<Record<string, string>>,
  port: number,
  onErrorText: (text: string) => void = () => {},
): Promise<LocalBackend> {
  const bubblewrap = "SERVICE_BUBBLEWRAP_BIN" in environment ? null : await locateBubblewrap();
  const temporary = environment.SERVICE_WORK_DIRECTORY
    ? null
    : await mkdtemp(join(tmpdir(), "document-rendering-service-"));
  const child = spawn(process.execPath, [BACKEND_PROGRAM], {
    env: {
      PATH: process.env.PATH ?? "",
      NODE_COMPILE_CACHE: getCompileCacheDir() ?? "",
      ...(bubblewrap !== null && "path" in bubblewrap && { SERVICE_BUBBLEWRAP_BIN: bubblewrap.path }),
      ...environment,
      ...(temporary !== null && { SERVICE_WORK_DIRECTORY: temporary }),
      SERVICE_HOST: LOOPBACK,
      SERVICE_PORT: String(port),
    },
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  let errorText = "";
  let hasStarted = false;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errorText = (errorText + text).slice(-10_000);
    if (hasStarted) onErrorText(text);
  });
  const backend: LocalBackend = {
    url: new URL(`http://${LOOPBACK}:${port}`),
    process: child,
    errorText: () => errorText.trim(),
    stop: async () => {
      if (isRunning(child)) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      if (temporary !== null) await rm(temporary, { recursive: true, force: true });
    },
  };
  try {
    await waitUntilReady(backend);
    hasStarted = true;
    onErrorText(errorText);
    return backend;
  } catch (error) {
    await backend.stop();
    throw error;
  }
}

/** Waits as long as the backend advances from step to step. */
async function waitUntilReady(backend: LocalBackend): Promise<void> {
  let step = "loading";
  let since = performance.now();
  backend.process.on("message", (message) => {
    step = String(message);
    since = performance.now();
  });
  while (performance.now() - since < STANDSTILL_MILLISECONDS) {
    if (!isRunning(backend.process)) throw new ServiceStartError(backend.errorText() || "The backend has exited.");
    if (step === LAST_STEP && (await isReady(backend))) return;
    await delay(READY_POLL_MILLISECONDS);
  }
  // A backend that stands still may not react to SIGTERM.
  backend.process.kill("SIGKILL");
  const standstill = `The backend did not start: no progress for ${STANDSTILL_MILLISECONDS / 1000} s while ${step}.`;
  throw new ServiceStartError([standstill, backend.errorText()].join("\n").trim());
}

function isReady(backend: LocalBackend): Promise<boolean> {
  return fetch(new URL("/ready", backend.url)).then(
    ({ ok }) => ok,
    () => false,
  );
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, LOOPBACK);
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** A port that was free a moment ago, and that the kernel gives to no connection meanwhile. */
export async function takeFreePort(): Promise<number> {
  for (let tries = 0; tries < MAX_PORT_TRIES; tries++) {
    const port = randomInt(...FREE_PORTS);
    if (await isPortFree(port)) return port;
  }
  throw new ServiceStartError(`No free port was found on ${LOOPBACK} in ${MAX_PORT_TRIES} tries.`);
}
