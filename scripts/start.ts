/** `npm start`: runs the whole service on this machine, until Ctrl-C. */

import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { readBackendSettings } from "../backend/settings.ts";
import { NODE_EDGE_INTEGER_SETTINGS } from "../edge/platform/node/settings.ts";
import { readEdgeSettings } from "../edge/settings.ts";
import { readIntegerSettings, SettingError } from "../rules/settings.ts";
import { cacheFolder } from "../typst/cache-folder.mjs";
import { locateTypst } from "../typst/program-location.mjs";
import { startEdge } from "./start/built-edge.ts";
import {
  isPortFree,
  LOOPBACK,
  ServiceStartError,
  STOP_SIGNALS,
  startBackend,
  takeFreePort,
} from "./start/local-service.ts";
import { localToken, localTokens } from "./start/local-token.ts";
import { welcome } from "./start/welcome.ts";
import { vendoredSettings } from "./vendoring/folders.ts";

/** The edge refuses any other `Host`: a page of a site whose name resolves to this machine must not reach it. */
const LOOPBACK_NAMES = [LOOPBACK, "localhost", "[::1]"];

/** As the images, the units of systemd and `wrangler.toml` set them: a template that fits there with its packages fits here. */
const DEPLOYED_LIMITS = { SERVICE_MAX_INLINE_FILES: "256", SERVICE_MAX_INLINE_FILE_BYTES: "2097152" };

/** A stop that takes longer waits for renders. */
const IDLE_STOP_MILLISECONDS = 500;
/** Without the edge, no render has a client, so the backend stops them and removes their files. */
const CLEAN_UP_MILLISECONDS = 2000;

// Much of the start-up time is parsing JavaScript.
enableCompileCache(join(cacheFolder(), "compiled-javascript"));

// Of a terminal that has been closed: the renders under way still end, and so do its programs.
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});

try {
  await run();
} catch (error) {
  if (!(error instanceof ServiceStartError || error instanceof SettingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const stopped = new Promise<"signal">((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, () => resolve("signal"));
  });
  const settings = serviceSettings();
  // Edge and backend read their settings again; reading all of them here reports an invalid one before anything starts.
  const { edgePort } = readIntegerSettings(NODE_EDGE_INTEGER_SETTINGS, settings);
  const { port, graceSeconds } = readBackendSettings(process.env);
  readEdgeSettings(settings);
  await expectFree(edgePort, "SERVICE_EDGE_PORT");
  await expectFree(port, "SERVICE_PORT");
  const typst = await locateTypst();
  if ("error" in typst) throw new ServiceStartError(typst.error);
  const tokens = await localTokens();
  const backendPort = port === 0 ? await takeFreePort() : port;
  const { workDirectory } = readBackendSettings({ ...process.env, SERVICE_PORT: String(backendPort) });
  const service = await startBoth(settings, { typstPath: typst.path, tokens, edgePort, backendPort, workDirectory });
  try {
    process.stdout.write(welcome(service.edge.url.origin, (await localToken()) ?? ""));
    const ended = await Promise.race([stopped, endOf("backend", service.backend), endOf("edge", service.edge)]);
    if (ended !== "signal") throw new ServiceStartError(ended);
    setTimeout(explainStop, IDLE_STOP_MILLISECONDS, graceSeconds, service).unref();
  } finally {
    await service.edge.stop();
    await service.backend.stop();
  }
}

/** Signals count again only now: npm passes on what a terminal has sent to both. */
function explainStop(seconds: number, { edge, backend }: Record<"edge" | "backend", { process: ChildProcess }>): void {
  process.stderr.write(`Waiting up to ${seconds} s for the renders under way. Ctrl-C again ends them at once.\n`);
  const end = () => {
    edge.process.kill("SIGKILL");
    setTimeout(() => backend.process.kill("SIGKILL"), CLEAN_UP_MILLISECONDS).unref();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, end);
}

async function endOf(name: string, { process: child }: { readonly process: ChildProcess }): Promise<string> {
  // On "close", because its last output has been passed on by then.
  const [exitCode, signalCode] = await once(child, "close");
  return `The ${name} has exited (${signalCode ?? `exit code ${exitCode}`}).`;
}

async function expectFree(port: number, setting: string): Promise<void> {
  if (port === 0 || (await isPortFree(port))) return;
  const advice = `Stop the program that listens there, or choose another port with ${setting}, and start again.`;
  throw new ServiceStartError(`Port ${port} of ${LOOPBACK} is in use. ${advice}`);
}

/** Starts edge and backend in parallel, because each takes a second. When one cannot start, the other is stopped. */
async function startBoth(
  settings: Readonly<Record<string, string>>,
  own: { typstPath: string; tokens: string; edgePort: number; backendPort: number; workDirectory: string },
) {
  // Named by who runs another edge before this backend.
  const backendToken = settings.SERVICE_BACKEND_TOKEN || randomBytes(32).toString("base64url");
  const starts = [
    startEdge(
      {
        SERVICE_LOG_REQUESTS: "none",
        ...settings,
        SERVICE_HOSTS: [...LOOPBACK_NAMES, settings.SERVICE_HOSTS ?? ""].join(" "),
        SERVICE_API_TOKENS: own.tokens,
        SERVICE_BACKEND_TOKEN: backendToken,
        SERVICE_BACKEND_URLS: `http://${LOOPBACK}:${own.backendPort}`,
      },
      own.edgePort,
    ),
    startBackend(
      {
        SERVICE_LOG_LEVEL: "warn",
        ...vendoredSettings(),
        ...settings,
        // The backend does not need the tokens that only the edge compares.
        SERVICE_API_TOKENS: "",
        SERVICE_METRICS_TOKENS: "",
        SERVICE_TYPST_BIN: own.typstPath,
        SERVICE_BACKEND_TOKENS: backendToken,
        SERVICE_WORK_DIRECTORY: own.workDirectory,
      },
      own.backendPort,
      (text) => process.stderr.write(text),
    ),
  ] as const;
  try {
    const [edge, backend] = await Promise.all(starts);
    return { edge, backend };
  } catch (error) {
    for (const start of await Promise.allSettled(starts)) if (start.status === "fulfilled") await start.value.stop();
    throw error;
  }
}

/** The service's own settings from the environment: the same names at the edge and in the backend. */
function serviceSettings(): Record<string, string> {
  const entries = Object.entries(process.env).map(([name, value = ""]) => [name, value] as const);
  return { ...DEPLOYED_LIMITS, ...Object.fromEntries(entries.filter(([name]) => name.startsWith("SERVICE_"))) };
}
