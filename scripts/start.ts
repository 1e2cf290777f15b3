/**
 * `npm start`: the whole service on this machine, until Ctrl-C.
 *
 * Every reason not to run is one clear line on standard error and exit code 1.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { isPortFree, LOOPBACK, ServiceStartError, STOP_SIGNALS, startBackend, startEdge } from "./local-service.ts";
import { localTokens } from "./local-token.ts";
import { locateTypst } from "./typst-location.mjs";

const EDGE_PORT = 8787;
const BACKEND_PORT = 8788;

try {
  await run();
} catch (error) {
  if (!(error instanceof ServiceStartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const stopped = new Promise<"signal">((resolve) => {
    for (const signal of STOP_SIGNALS) process.on(signal, () => resolve("signal"));
  });
  for (const port of [EDGE_PORT, BACKEND_PORT]) {
    if (await isPortFree(port)) continue;
    throw new ServiceStartError(`Port ${port} of ${LOOPBACK} is in use. Stop what listens there, then start again.`);
  }
  const typst = await locateTypst();
  if ("error" in typst) throw new ServiceStartError(typst.error);
  const settings = serviceSettings();
  const tokens = await localTokens();
  const backendToken = randomBytes(24).toString("base64url");

  const backend = await startBackend(
    {
      SERVICE_LOG_LEVEL: "warn",
      ...settings,
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_BACKEND_TOKENS: backendToken,
    },
    BACKEND_PORT,
  );
  try {
    const edge = await startEdge(
      {
        ...settings,
        SERVICE_API_TOKENS: tokens,
        SERVICE_BACKEND_TOKEN: backendToken,
        SERVICE_BACKEND_URLS: backend.url.origin,
      },
      EDGE_PORT,
    );
    try {
      process.stdout.write(welcome(edge.url.origin, tokens));
      const ended = await Promise.race([stopped, once(backend.process, "exit")]);
      if (ended !== "signal") {
        throw new ServiceStartError(`The backend has ended unexpectedly. ${backend.errorText()}`.trim());
      }
    } finally {
      await edge.stop();
    }
  } finally {
    await backend.stop();
  }
}

/** The service's own settings from the environment: the same names at the edge and in the backend. */
function serviceSettings(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      name.startsWith("SERVICE_") && value !== undefined ? [[name, value]] : [],
    ),
  );
}

function welcome(origin: string, tokens: string): string {
  const [token = ""] = tokens.split(/[\s,]+/);
  return [
    `The service is ready at ${origin} (Ctrl-C stops it). A first document:`,
    "",
    `curl --fail-with-body -o hello.pdf ${origin}/v1/render -H 'X-Service-Api-Token: ${token}' -H 'Content-Type: application/json' -d '{"source": "= Hello, #data.name!", "data": {"name": "world"}}'`,
    "",
    "",
  ].join("\n");
}
