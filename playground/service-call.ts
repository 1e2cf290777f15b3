/** Calls the service that serves this page, by the client that other programs use. */
import {
  jsonText,
  type RenderRequest,
  ServiceClient,
  type ServiceProblem,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../client/client.ts";
import { type Limits, publishedLimits } from "../rules/limits.ts";

/** How far a request is. */
export type Progress =
  | { readonly phase: "rendering" }
  /** The service is busy, or could not be reached. */
  | { readonly phase: "waiting"; readonly waitSeconds: number }
  | { readonly phase: "receiving"; readonly receivedBytes: number; readonly totalBytes: number | null };

export interface RenderedDocument {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
  readonly fileName: string;
}

export type RenderOutcome =
  | { readonly kind: "document"; readonly document: RenderedDocument }
  | { readonly kind: "problem"; readonly problem: ServiceProblem }
  | { readonly kind: "cancelled" }
  | { readonly kind: "unreachable" };

/**
 * Renders a valid body. Never rejects for what a network or a person can do: an aborted `signal` is an outcome as well.
 *
 * @param data the text of the body's `data`, which is sent unchanged; empty when there is none
 */
export async function callRender(
  { body, data }: { readonly body: string; readonly data: string },
  token: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<RenderOutcome> {
  const request: RenderRequest = JSON.parse(body);
  try {
    const result = await clientFor(token).render(
      { ...request, data: data.trim() === "" ? undefined : jsonText(data) },
      { signal, onRetry: ({ waitSeconds }) => onProgress({ phase: "waiting", waitSeconds }) },
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
    return { kind: "document", document: { bytes, mediaType: result.contentType, fileName: result.filename } };
  } catch (error) {
    if (signal.aborted) return { kind: "cancelled" };
    if (isNetworkError(error)) return { kind: "unreachable" };
    throw error;
  }
}

/** What a deployment says to a token: its limits, that the token is wrong, or nothing that can be used. */
export type LimitsOutcome =
  | { readonly kind: "limits"; readonly limits: Limits }
  | { readonly kind: "forbidden" }
  | { readonly kind: "unknown" };

/** The limits of this deployment. */
export async function fetchLimits(token: string): Promise<LimitsOutcome> {
  try {
    const result = await clientFor(token).constraints();
    if (result.ok) return { kind: "limits", limits: publishedLimits(result.constraints.limits) };
    return { kind: result.problem.code === "forbidden" ? "forbidden" : "unknown" };
  } catch (error) {
    if (isNetworkError(error)) return { kind: "unknown" };
    throw error;
  }
}

/** The page has validated the request already, by the same rules. */
function clientFor(token: string): ServiceClient {
  return new ServiceClient({ url: location.origin, token, checkBeforeSending: false });
}

/** Browsers report a body that breaks off as a `TypeError`. */
function isNetworkError(error: unknown): boolean {
  return (
    error instanceof ServiceUnreachableError || error instanceof UnexpectedResponseError || error instanceof TypeError
  );
}
