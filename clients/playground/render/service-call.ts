/** Calls the service that serves this page, with the same client as other programs. */
import { type Limits, publishedLimits } from "../../../rules/limits.ts";
import {
  ServiceClient,
  type ServiceProblem,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../../typescript/client.ts";
import { type Draft, requestBytes } from "../drafts/draft.ts";
import { DEPLOYMENT } from "../page/deployment.ts";

export interface RenderedDocument {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
  readonly fileName: string;
  /** The bound of this file, and of what an archive unpacks to. */
  readonly maxBytes: number;
}

export type CallOutcome =
  | { readonly kind: "document"; readonly document: RenderedDocument }
  | { readonly kind: "problem"; readonly problem: ServiceProblem }
  | { readonly kind: "cancelled" }
  /** The error is null if the browser has no network. */
  | { readonly kind: "unreachable"; readonly error: ServiceUnreachableError | null }
  | { readonly kind: "unexpected"; readonly message: string };

/** Sends a valid draft once. Failures of the network and an aborted `signal` are outcomes, and never reject. */
export async function callRender(draft: Draft, token: string, signal: AbortSignal): Promise<CallOutcome> {
  try {
    body = requestBytes(draft);
    const result = await clientOf(token).render({ source: draft.source }, { signal });
    if (!result.ok) return { kind: "problem", problem: result.problem };
    const { contentType: mediaType, filename: fileName, maxBytes } = result;
    return { kind: "document", document: { bytes: await result.bytes(), mediaType, fileName, maxBytes } };
  } catch (error) {
    if (signal.aborted) return { kind: "cancelled" };
    if (error instanceof UnexpectedResponseError) return { kind: "unexpected", message: error.message };
    if (error instanceof ServiceUnreachableError) return { kind: "unreachable", error };
    throw error;
  }
}

export async function fetchLimits(token: string): Promise<Limits | "forbidden" | null> {
  try {
    const result = await clientOf(token).constraints();
    if (result.ok) return publishedLimits(result.constraints.limits);
    return result.problem.code === "forbidden" ? "forbidden" : null;
  } catch (error) {
    if (error instanceof ServiceUnreachableError || error instanceof UnexpectedResponseError) return null;
    throw error;
  }
}

let current: { readonly token: string; readonly client: ServiceClient } | undefined;
/** Sent instead of the client's own encoding: megabytes are not encoded again for each render. */
let body: Uint8Array<ArrayBuffer> | null = null;

/**
 * On a connection that it has used, Chromium sends a render again by itself after a 408. It keeps connections with and without
 * credentials apart, and the edge closes each one after a render, so that none is used twice. HTTPS is for proxies, which
 * speak HTTP/2, where this does not happen, and which may ask for a cookie.
 */
const CREDENTIALS = location.protocol === "http:" ? "omit" : "same-origin";

/** The client of the tab's token, which knows the limit on outputs. The page itself validates, and tries again. */
function clientOf(token: string): ServiceClient {
  if (current?.token === token) return current.client;
  const client = new ServiceClient({
    url: DEPLOYMENT,
    token,
    checkBeforeSending: false,
    retry: false,
    fetch: (input, init) => fetch(input, init?.method === "POST" ? { ...init, body, credentials: CREDENTIALS } : init),
  });
  current = { token, client };
  return client;
}
