/** Calls the service that serves this page, with the same client as other programs. */
import { type Limits, publishedLimits } from "../../../rules/limits.ts";
import {
  ServiceClient,
  type ServiceProblem,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../../typescript/client.ts";
import { type Draft, requestBytes } from "../drafts/draft.ts";

/** Why a request is not sent immediately. */
export type WaitReason = "busy" | "unreachable" | "offline";

export type Progress =
  | { readonly phase: "rendering" }
  /** `untilMilliseconds` is the time of the next attempt, by the clock of `performance.now()`. */
  | { readonly phase: "waiting"; readonly reason: WaitReason; readonly untilMilliseconds: number }
  | { readonly phase: "receiving"; readonly receivedBytes: number; readonly totalBytes: number | null };

export interface RenderedDocument {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
  readonly fileName: string;
  /** The bound of this file, and of what an archive unpacks to. */
  readonly maxBytes: number;
}

export type RenderOutcome =
  | { readonly kind: "document"; readonly document: RenderedDocument }
  | { readonly kind: "problem"; readonly problem: ServiceProblem }
  | { readonly kind: "cancelled" }
  | { readonly kind: "unreachable" }
  /** Something other than the service has answered. */
  | { readonly kind: "unexpected"; readonly message: string };

/** Renders a valid draft. Failures of the network and an aborted `signal` are outcomes, and never reject. */
export async function callRender(
  draft: Draft,
  token: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<RenderOutcome> {
  try {
    const keeper = keeperOf(token);
    keeper.body = requestBytes(draft);
    const result = await keeper.client.render(
      { source: draft.source },
      {
        signal,
        onRetry: ({ waitSeconds, reason }) => {
          const untilMilliseconds = performance.now() + waitSeconds * 1000;
          onProgress({ phase: "waiting", reason: waitReason(reason), untilMilliseconds });
        },
      },
    );
    if (!result.ok) return { kind: "problem", problem: result.problem };
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let receivedBytes = 0;
    for await (const chunk of result.body) {
      chunks.push(chunk);
      receivedBytes += chunk.length;
      onProgress({ phase: "receiving", receivedBytes, totalBytes: result.sizeBytes });
    }
    const bytes = await new Blob(chunks).bytes();
    const { contentType: mediaType, filename: fileName, maxBytes } = result;
    return { kind: "document", document: { bytes, mediaType, fileName, maxBytes } };
  } catch (error) {
    if (signal.aborted) return { kind: "cancelled" };
    if (error instanceof UnexpectedResponseError) return { kind: "unexpected", message: error.message };
    if (error instanceof ServiceUnreachableError) return { kind: "unreachable" };
    throw error;
  }
}

/** Why the page waits after an attempt has failed. */
function waitReason(failure: ServiceProblem | ServiceUnreachableError): WaitReason {
  if (!(failure instanceof ServiceUnreachableError)) return "busy";
  return unreachableReason();
}

/** `offline` if this machine itself has no connection. */
export function unreachableReason(): "unreachable" | "offline" {
  return navigator.onLine ? "unreachable" : "offline";
}

/** How a deployment answers a token: with its limits, with a rejection of the token, or with nothing usable. */
export type LimitsOutcome =
  | { readonly kind: "limits"; readonly limits: Limits }
  | { readonly kind: "forbidden" }
  | { readonly kind: "unknown" };

export async function fetchLimits(token: string): Promise<LimitsOutcome> {
  try {
    const result = await keeperOf(token).client.constraints();
    if (result.ok) return { kind: "limits", limits: publishedLimits(result.constraints.limits) };
    return { kind: result.problem.code === "forbidden" ? "forbidden" : "unknown" };
  } catch (error) {
    if (isNetworkError(error)) return { kind: "unknown" };
    throw error;
  }
}

interface ClientKeeper {
  readonly token: string;
  /** Knows the limit on outputs from the constraints. It does not validate: the page has. */
  readonly client: ServiceClient;
  /** Sent instead of the client's own encoding: megabytes are not encoded again for each render. */
  body: Uint8Array<ArrayBuffer> | undefined;
}

let kept: ClientKeeper | undefined;

/** The client of the tab's token. At most one of its renders is under way. */
function keeperOf(token: string): ClientKeeper {
  if (kept?.token === token) return kept;
  const keeper: ClientKeeper = {
    token,
    client: new ServiceClient({
      url: location.origin,
      token,
      checkBeforeSending: false,
      fetch: (input, init) => fetch(input, init?.method === "POST" ? { ...init, body: keeper.body ?? null } : init),
    }),
    body: undefined,
  };
  kept = keeper;
  return keeper;
}

function isNetworkError(error: unknown): boolean {
  return error instanceof ServiceUnreachableError || error instanceof UnexpectedResponseError;
}
