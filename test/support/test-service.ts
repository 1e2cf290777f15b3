/** The whole service for a test: the backend as its own process and the edge in workerd, over real sockets. */
import { inject } from "vitest";
import {
  type LocalBackend,
  type LocalEdge,
  startBackend,
  startEdge,
  takeFreePort,
} from "../../scripts/local-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "./tokens.ts";
import { typstPath } from "./typst-path.ts";

export interface TestService {
  readonly edge: LocalEdge;
  readonly backend: LocalBackend;
  /** Sends a request to the edge, with the API token unless the headers have one. */
  send(path: string, init?: RequestInit): Promise<Response>;
  /** Sends a body to the edge's render route, as JSON unless the headers say otherwise. */
  render(body: object | string | Uint8Array<ArrayBuffer>, init?: RequestInit): Promise<Response>;
  stop(): Promise<void>;
}

export interface TestServiceOptions {
  /** Settings of both the edge and the backend. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings of the backend alone. */
  readonly backendSettings?: Readonly<Record<string, string>>;
  /** The URLs of further configured backends, in addition to the running one. */
  readonly otherBackendUrls?: readonly string[];
}

/** The environment of a backend process under test. */
export function backendEnvironment(): Record<string, string> {
  return {
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
    SERVICE_TYPST_BIN: typstPath(),
    SERVICE_BUBBLEWRAP_BIN: inject("bubblewrapPath"),
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_LOG_LEVEL: "silent",
  };
}

/** Starts both parts and waits until they are ready. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { settings = {}, backendSettings = {}, otherBackendUrls = [] } = options;
  const backend = await startBackend(
    {
      ...backendEnvironment(),
      // A fake Typst is a shell script, and there is no shell in a sandbox.
      ...(backendSettings.SERVICE_TYPST_BIN && { SERVICE_SANDBOX: "none", SERVICE_WARM_RENDERS: "0" }),
      ...settings,
      ...backendSettings,
    },
    await takeFreePort(),
  );
  const bindings = {
    SERVICE_LOG_REQUESTS: "none",
    SERVICE_API_TOKENS: API_TOKEN,
    ...settings,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: [backend.url.origin, ...otherBackendUrls].join(" "),
  };
  let edge: LocalEdge;
  try {
    edge = await startEdge(bindings, await takeFreePort());
  } catch (error) {
    await backend.stop();
    throw error;
  }
  const send = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("X-Service-Api-Token")) headers.set("X-Service-Api-Token", API_TOKEN);
    return fetch(new URL(path, edge.url), { ...init, headers });
  };
  return {
    edge,
    backend,
    send,
    render: (body, init = {}) => {
      const headers = new Headers(init.headers);
      if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
      const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      return send("/v1/render", { ...init, method: "POST", headers, body: bytes });
    },
    stop: async () => {
      await edge.stop();
      await backend.stop();
    },
  };
}
