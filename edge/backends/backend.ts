/** A backend that can be fetched from: a URL, a binding of the Worker or an instance of a container. */
import { SettingError } from "../../rules/settings.ts";
import type { AccessToken, BackendAddress } from "./backend-address.ts";

export interface Backend {
  readonly name: string;
  /** Sends a request to a path. It rejects when no answer begins. */
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/** @throws SettingError when the address names a binding that the Worker does not have. */
export function openBackend(
  address: BackendAddress,
  environment: Readonly<Record<string, unknown>>,
  accessToken: AccessToken | null,
): Backend {
  const { name } = address;
  switch (address.kind) {
    case "url":
      return {
        name,
        fetch: (path, init) => fetch(new URL(path, address.url), withAccessToken(init, accessToken)),
      };
    case "binding": {
      const binding = environment[address.binding];
      if (!isFetcher(binding)) throw missingBinding(address.binding, "a service with `fetch`");
      return { name, fetch: (path, init) => binding.fetch(new URL(path, address.url), init) };
    }
    case "container": {
      const namespace = environment[address.binding];
      if (!isNamespace(namespace)) throw missingBinding(address.binding, "a Durable Object namespace");
      // Made for each request: a stub cannot be used by another one.
      const instance = () => namespace.get(namespace.idFromName(String(address.index)));
      return { name, fetch: (path, init) => instance().fetch(new URL(path, "http://backend"), init) };
    }
  }
}

function withAccessToken(init: RequestInit, accessToken: AccessToken | null): RequestInit {
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
