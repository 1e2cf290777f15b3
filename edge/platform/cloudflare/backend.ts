/** Fetches from backends: a URL, a binding of the Worker or an instance of a container. */
import { SettingError } from "../../../rules/settings.ts";
import type { AccessToken, BackendAddress } from "../../backends/backend-address.ts";
import type { Backend, BackendAnswer, BackendRequest } from "../platform.ts";
import { StreamedAnswer } from "./exchange.ts";
import { sendBody } from "./send-body.ts";

type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** @throws SettingError when the address names a binding that the Worker does not have. */
export function openBackend(
  address: BackendAddress,
  environment: Readonly<Record<string, unknown>>,
  accessToken: AccessToken | null,
): Backend {
  const fetchFrom = openFetch(address, environment, accessToken);
  return { name: address.name, send: (request) => send(fetchFrom, request) };
}

function openFetch(
  address: BackendAddress,
  environment: Readonly<Record<string, unknown>>,
  accessToken: AccessToken | null,
): Fetch {
  switch (address.kind) {
    case "url": {
      const { origin } = address.url;
      return (path, init) => fetch(`${origin}${path}`, addAccessToken(init, accessToken));
    }
    case "binding": {
      const binding = environment[address.binding];
      if (!isFetcher(binding)) throw missingBinding(address.binding, "a service with `fetch`");
      const { origin } = address.url;
      return (path, init) => binding.fetch(`${origin}${path}`, init);
    }
    case "container": {
      const namespace = environment[address.binding];
      if (!isNamespace(namespace)) throw missingBinding(address.binding, "a Durable Object namespace");
      // Made for each request: a stub cannot be used by another one.
      const instance = () => namespace.get(namespace.idFromName(String(address.index)));
      return (path, init) => instance().fetch(`http://backend${path}`, init);
    }
  }
}

async function send(
  fetchFrom: Fetch,
  { method, path, headers, body, signal, reportTaken }: BackendRequest,
): Promise<BackendAnswer> {
  const init: RequestInit = { method, headers, redirect: "manual", signal };
  if (body !== null) init.body = typeof body === "string" ? body : streamOf(body, reportTaken ?? (() => {}));
  return toBackendAnswer(await fetchFrom(path, init));
}

function streamOf(bytes: Uint8Array<ArrayBuffer>, reportTaken: NonNullable<BackendRequest["reportTaken"]>) {
  const { readable, writable } = new FixedLengthStream(bytes.length);
  // A failed write needs no handling: the fetch fails as well, or the backend has answered before the end of the body.
  const writer = writable.getWriter();
  for (const failing of [writer.closed, sendBody(writer, bytes, reportTaken)]) failing.catch(() => {});
  return readable;
}

export function toBackendAnswer({ status, headers, body }: Response): BackendAnswer {
  return { status, headers, body: body === null ? null : new StreamedAnswer(body) };
}

function addAccessToken(init: RequestInit, accessToken: AccessToken | null): RequestInit {
  if (accessToken === null) return init;
  const headers = new Headers(init.headers);
  headers.set("CF-Access-Client-Id", accessToken.clientId);
  headers.set("CF-Access-Client-Secret", accessToken.clientSecret);
  return { ...init, headers };
}

function isFetcher(binding: unknown): binding is Fetcher {
  return typeof binding === "object" && binding !== null && "fetch" in binding;
}

function isNamespace(binding: unknown): binding is DurableObjectNamespace {
  return typeof binding === "object" && binding !== null && "idFromName" in binding;
}

function missingBinding(binding: string, kind: string): SettingError {
  return new SettingError(`SERVICE_BACKEND_URLS names ${binding}, but the Worker has no such binding to ${kind}.`);
}
