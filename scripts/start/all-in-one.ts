/** The program of the image `all-in-one`: edge and backend, until one ends, and a port for HEALTHCHECK. */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { NODE_EDGE_INTEGER_SETTINGS } from "../../edge/platform/node/settings.ts";
import { parseNamedTokens } from "../../protocol/authentication.ts";
import { readIntegerSettings, SettingError } from "../../rules/settings.ts";
import { welcome } from "./welcome.ts";

const LOOPBACK = "127.0.0.1";
const BACKEND_PORT = 8788;
const HEALTH_PORT = 8789;
const ANSWER_TIMEOUT_MILLISECONDS = 7000;
const POLL_MILLISECONDS = 20;

const randomToken = () => randomBytes(32).toString("base64url");

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<0 | 1> {
  const stopped = new Promise<"stopped">((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => resolve("stopped"));
  });
  const { edgePort } = readIntegerSettings(NODE_EDGE_INTEGER_SETTINGS, process.env);
  const apiTokens = process.env.SERVICE_API_TOKENS || randomToken();
  const token = parseNamedTokens("SERVICE_API_TOKENS", apiTokens)[0]?.token ?? "";
  const url = `http://${LOOPBACK}:${edgePort}`;
  const backendToken = randomToken();
  const backend = start("backend", "backend/main.ts", {
    SERVICE_LOG_LEVEL: "warn",
    ...process.env,
    SERVICE_API_TOKENS: "",
    SERVICE_METRICS_TOKENS: "",
    SERVICE_BACKEND_TOKENS: backendToken,
    SERVICE_HOST: LOOPBACK,
    SERVICE_PORT: String(BACKEND_PORT),
  });
  const edge = start("edge", "dist/edge/start.mjs", {
    SERVICE_LOG_REQUESTS: "none",
    ...process.env,
    SERVICE_API_TOKENS: apiTokens,
    SERVICE_BACKEND_TOKEN: backendToken,
    SERVICE_BACKEND_URLS: `http://${LOOPBACK}:${BACKEND_PORT}`,
  });
  const ended = Promise.race([stopped, edge.ended, backend.ended]);
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  const render = {
    method: "POST",
    headers: { "X-Service-Api-Token": token, "Content-Type": "application/json" },
    body: '{"source": "= Hello"}',
  };
  const canRender = () => succeeds(`${url}/v1/render`, render);
  const health = createServer((_request, response) => {
    void canRender().then((isReady) => response.writeHead(isReady ? 200 : 503).end());
  }).listen(HEALTH_PORT, LOOPBACK);
  // The backend itself is asked first: for each render that fails, the edge logs a warning.
  while (!hasEnded && !(await succeeds(`http://${LOOPBACK}:${BACKEND_PORT}/ready`))) await delay(POLL_MILLISECONDS);
  while (!hasEnded && !(await canRender())) await delay(POLL_MILLISECONDS);
  if (!hasEnded) process.stdout.write(welcome(url, token));
  const end = await ended;
  health.close();
  // The edge first: the backend finishes what is in flight there.
  for (const { child, ended: hasExited } of [edge, backend]) {
    child.kill("SIGTERM");
    await hasExited;
  }
  if (end === "stopped") return 0;
  process.stderr.write(`${end}\n`);
  return 1;
}

/** @returns the process, and how it ended in a sentence. */
function start(name: string, program: string, env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "inherit", "inherit"] });
  const ended = once(child, "exit").then(([exitCode, signal]) => `The ${name} has exited (${signal ?? exitCode}).`);
  return { child, ended };
}

/** Whether a request is answered with success in time. */
async function succeeds(url: string, request: RequestInit = {}): Promise<boolean> {
  try {
    const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MILLISECONDS) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
