/** Fetches from backends: a URL, a binding of the Worker or an instance of a container. */
import { BACKEND_TOKEN_HEADER, EDGE_COUNTS_HEADER } from "../../protocol/headers.ts";
import { SettingError } from "../../rules/settings.ts";
import { waitAtMost } from "../clock.ts";
import type { AccessToken, BackendAddress } from "./backend-address.ts";
import type { Backend } from "./backend-choice.ts";

/** @throws SettingError when the address names a binding that the Worker does not have. */
export function openBackend(
  address: BackendAddress,
  environment: Readonly<Record<string, unknown>>,
  accessToken: AccessToken | null,
): Backend {
  const { name } = address;
  switch (address.kind) {
    case "url": {
      const { origin } = address.url;
      return { name, fetch: (path, init) => fetch(`${origin}${path}`, addAccessToken(init, accessToken)) };
    }
    case "binding": {
      const binding = environment[address.binding];
      if (!isFetcher(binding)) throw missingBinding(address.binding, "a service with `fetch`");
      const { origin } = address.url;
      return { name, fetch: (path, init) => binding.fetch(`${origin}${path}`, init) };
    }
    case "container": {
      const namespace = environment[address.binding];
      if (!isNamespace(namespace)) throw missingBinding(address.binding, "a Durable Object namespace");
      // Made for each request: a stub cannot be used by another one.
      const instance = () => namespace.get(namespace.idFromName(String(address.index)));
      return { name, fetch: (path, init) => instance().fetch(`http://backend${path}`, init) };
    }
  }
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

/**
 * What an isolate has counted and not yet told a backend. A scrape reaches one isolate of many, so an edge has no
 * metrics of its own: each request to a backend takes along what has been counted meanwhile.
 */
export class UnreportedCounts {
  #counts = new Map<string, number>();

  /** Names are those of `rules/causes.ts`, so there is a bounded number of them. */
  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  /** The backend, with a report in each request to it. Counts that it does not confirm are reported again. */
  reportThrough({ name, fetch }: Backend, backendToken: string): Backend {
    return {
      name,
      fetch: async (path, init) => {
        if (this.#counts.size === 0) return fetch(path, init);
        const counts = this.#counts;
        this.#counts = new Map();
        const report = new URLSearchParams([...counts].map(([cause, count]) => [cause, String(count)])).toString();
        const headers = new Headers(init.headers);
        headers.set(BACKEND_TOKEN_HEADER, backendToken);
        headers.set(EDGE_COUNTS_HEADER, report);
        let isCounted = false;
        try {
          const response = await fetch(path, { ...init, headers });
          isCounted = response.headers.get(EDGE_COUNTS_HEADER) === report;
          return response;
        } finally {
          if (!isCounted) for (const [name, count] of counts) this.add(name, count);
        }
      },
    };
  }
}

/** A small document, bounded in size and time; null without one. */
export async function fetchText(
  backend: Backend,
  path: string,
  { maxBytes, timeoutMilliseconds }: { readonly maxBytes: number; readonly timeoutMilliseconds: number },
): Promise<string | null> {
  const deadline = Date.now() + timeoutMilliseconds;
  try {
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    const response = await backend.fetch(path, { signal, redirect: "manual" });
    const text = response.body === null ? "" : await readBoundedText(response.body, maxBytes, deadline);
    return response.ok ? text : null;
  } catch {
    return null;
  }
}

/** The text of a body; null if it is longer than `maxBytes` or late. In that case the rest is not read. */
export async function readBoundedText(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  deadline: number,
): Promise<string | null> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const reading = await waitAtMost(reader.read(), deadline - Date.now());
    if (reading === "late") break;
    if (reading.done) return text + decoder.decode();
    size += reading.value.length;
    if (size > maxBytes) break;
    text += decoder.decode(reading.value, { stream: true });
  }
  await reader.cancel();
  return null;
}
