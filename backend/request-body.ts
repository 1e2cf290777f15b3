/**
 * Reading a request's body within its limit.
 */
import type { IncomingMessage } from "node:http";
import type { Limits } from "../rules/limits.ts";
import type { Problem } from "../rules/problem.ts";
import { BodyCollector, judgeDeclaredSize, type RequestHead } from "../rules/request-head.ts";

export type BodyReading =
  | { readonly kind: "body"; readonly body: Uint8Array }
  | { readonly kind: "refused"; readonly problem: Problem }
  /** The connection broke before the body was whole. */
  | { readonly kind: "aborted" };

/** The headers that the judgement of a request's head needs. */
export function requestHead({ headers }: IncomingMessage): RequestHead {
  return {
    contentLength: headers["content-length"] ?? null,
    contentType: headers["content-type"] ?? null,
    contentEncoding: headers["content-encoding"] ?? null,
  };
}

/** Reads a body. A refused one is left unread: the connection must be closed after the answer. */
export async function readBody(message: IncomingMessage, limits: Limits): Promise<BodyReading> {
  const head = requestHead(message);
  const refusal = judgeDeclaredSize(head, limits);
  if (refusal !== null) return { kind: "refused", problem: refusal };
  const collector = new BodyCollector(head, limits);
  try {
    // The stream must outlive a refusal: destroying it would take the answer's socket with it.
    for await (const piece of message.iterator({ destroyOnReturn: false })) {
      const problem = collector.add(piece);
      if (problem !== null) return { kind: "refused", problem };
    }
  } catch {
    return { kind: "aborted" };
  }
  return { kind: "body", body: collector.finish() };
}
