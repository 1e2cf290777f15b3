/** The whole service for a test: the backend as its own process and the edge in this one, over real sockets. */
import { inject, onTestFinished } from "vitest";
import { type LocalBackend, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { typstPath } from "../backend/typst-path.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";
import { type EdgePlatform, type ServiceParts, type ServicePlan, startParts } from "./service-parts.ts";

/** A service that other files may use at the same time. */
export interface SharedService extends ReturnType<typeof clientOf> {
  readonly edge: { readonly url: URL };
  readonly backend: { readonly url: URL };
}

export type TestService = SharedService & ServiceParts;

export interface TestServiceOptions {
  /** Of the edge: Node by default. */
  readonly platform?: EdgePlatform;
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

/** Starts a backend alone, which is stopped when the test has finished. */
export async function startBackendAlone(settings: Readonly<Record<string, string>> = {}): Promise<LocalBackend> {
  const backend = await startBackend({ ...backendEnvironment(), ...settings }, await takeFreePort());
  onTestFinished(() => backend.stop());
  return backend;
}

/**
 * With these, files at the same time do not notice each other: none is refused, and none waits long for the renders of
 * another.
 */
const ROOM_FOR_ALL = {
  SERVICE_MAX_CONCURRENT_RENDERS: "6",
  SERVICE_MAX_QUEUED_RENDERS: "10000",
  SERVICE_QUEUE_DEADLINE_SECONDS: "600",
};

/**
 * The service that all files with the same settings share, for tests that only render. What counts requests, reads
 * logs, fills slots or disturbs a part starts its own.
 */
export async function sharedService(
  settings: Readonly<Record<string, string>> = {},
  platform?: EdgePlatform,
): Promise<SharedService> {
  const body = JSON.stringify(planOf({ settings: { ...ROOM_FOR_ALL, ...settings }, ...(platform && { platform }) }));
  const answer = await fetch(inject("sharedServicesUrl"), { method: "POST", body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  const [edge, backend] = text.split(" ").map((url) => ({ url: new URL(url) }));
  if (edge === undefined || backend === undefined) throw new Error(`not two URLs: ${text}`);
  return { edge, backend, ...clientOf(edge.url) };
}

export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const parts = await startParts(planOf(options));
  return { ...clientOf(parts.edge.url), ...parts };
}

function planOf(options: TestServiceOptions): ServicePlan {
  const { platform = "node", settings = {}, backendSettings = {}, otherBackendUrls = [] } = options;
  return {
    platform,
    backend: {
      ...backendEnvironment(),
      // A fake Typst is a shell script, and there is no shell in a sandbox.
      ...(backendSettings.SERVICE_TYPST_BIN && { SERVICE_SANDBOX: "none", SERVICE_WARM_RENDERS: "0" }),
      ...settings,
      ...backendSettings,
    },
    edge: {
      SERVICE_LOG_REQUESTS: "none",
      SERVICE_API_TOKENS: API_TOKEN,
      ...settings,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: otherBackendUrls.join(" "),
    },
  };
}

/** What sends requests to the edge at this URL. */
export function clientOf(url: URL) {
  /** Sends a request, with the API token unless the headers have one. */
  const send = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has("X-Service-Api-Token")) headers.set("X-Service-Api-Token", API_TOKEN);
    return fetch(new URL(path, url), { ...init, headers });
  };
  return {
    send,
    /** Sends a body to the render route, as JSON unless the headers say otherwise. */
    render: (body: object | string | Uint8Array<ArrayBuffer>, init: RequestInit = {}): Promise<Response> => {
      const headers = new Headers(init.headers);
      if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
      const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
      return send("/v1/render", { ...init, method: "POST", headers, body: bytes });
    },
  };
}
