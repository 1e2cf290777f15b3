/** Sends a request to the service that serves this page, and reads its answer as it comes. */
import { API_TOKEN_HEADER } from "../rules/http/headers.ts";
import type { ProblemReport } from "./findings.ts";

/** How far a request is. */
export type Progress =
  | { readonly phase: "rendering" }
  | { readonly phase: "receiving"; readonly receivedBytes: number; readonly totalBytes: number };

export interface RenderedFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
  readonly fileName: string;
}

/** A problem as the service sends it. */
export interface AnsweredProblem extends ProblemReport {
  readonly title: string;
  /** Null when the answer has none. */
  readonly requestId: string | null;
}

export type RenderOutcome =
  | { readonly kind: "file"; readonly file: RenderedFile }
  | { readonly kind: "problem"; readonly problem: AnsweredProblem }
  | { readonly kind: "cancelled" }
  | { readonly kind: "unreachable" };

/** Renders a body. Never rejects: an aborted `signal` is an outcome as well. */
export async function callRender(
  body: string,
  token: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<RenderOutcome> {
  try {
    onProgress({ phase: "rendering" });
    const answer = await fetch("/v1/render", {
      method: "POST",
      headers: { "Content-Type": "application/json", [API_TOKEN_HEADER]: token },
      body,
      signal,
    });
    if (!answer.ok) return { kind: "problem", problem: await readProblem(answer) };
    return { kind: "file", file: await readFile(answer, onProgress) };
  } catch {
    return { kind: signal.aborted ? "cancelled" : "unreachable" };
  }
}

async function readFile(answer: Response, onProgress: (progress: Progress) => void): Promise<RenderedFile> {
  const totalBytes = Number(answer.headers.get("Content-Length"));
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let receivedBytes = 0;
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk);
    receivedBytes += chunk.length;
    onProgress({ phase: "receiving", receivedBytes, totalBytes });
  }
  const bytes = await new Blob(chunks).bytes();
  const [mediaType = ""] = (answer.headers.get("Content-Type") ?? "").split(";");
  return { bytes, mediaType, fileName: fileName(answer.headers.get("Content-Disposition") ?? "") };
}

function fileName(disposition: string): string {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/.exec(disposition) ?? [];
  const [, plain] = /filename="?([^";]+)"?/.exec(disposition) ?? [];
  return encoded === undefined ? (plain ?? "document") : decodeURIComponent(encoded);
}

async function readProblem(answer: Response): Promise<AnsweredProblem> {
  const requestId = answer.headers.get("X-Request-Id");
  const body: unknown = await answer.json().catch(() => null);
  const members: { readonly [name: string]: unknown } = { ...(typeof body === "object" ? body : null) };
  return {
    code: String(members.code ?? answer.status),
    title: String(members.title ?? "Unexpected answer"),
    detail: String(members.detail ?? `The server has answered with the status ${answer.status}.`),
    context: typeof members.context === "object" && members.context !== null ? members.context : {},
    requestId,
  };
}
