/** Reads a request's body within a size limit, a memory budget and a deadline. */
import type { IncomingMessage } from "node:http";
import {
  BODY_SILENCE_MILLISECONDS,
  BodyCollector,
  bodyTooSlow,
  discard,
  MAX_DISCARDED_BYTES,
  NO_MEMORY_RETRY_SECONDS,
} from "../../protocol/body-collector.ts";
import { IncomingBody } from "../../protocol/node/incoming-body.ts";
import type { Limits } from "../../rules/limits.ts";
import { renderQueueFull } from "../../rules/problem.ts";
import { MAX_BODY_MILLISECONDS } from "../../rules/render-time.ts";
import { declaredSize, type RequestHead, validateDeclaredSize } from "../../rules/request-head.ts";
import type { Reservation } from "../admission/byte-budget.ts";
import { CLIENT_GONE, type RenderFailure, refuse } from "../render/outcome.ts";
import { STEADY_CLOCK } from "../render/render-time.ts";

export type BodyReading = { readonly kind: "body"; readonly body: Uint8Array } | RenderFailure;

export function readHead({ headers }: IncomingMessage): RequestHead {
  return {
    contentLength: headers["content-length"] ?? null,
    contentType: headers["content-type"] ?? null,
    contentEncoding: headers["content-encoding"] ?? null,
    transferEncoding: headers["transfer-encoding"] ?? null,
  };
}

/** @param memory grows with what is read. The caller releases it. */
export function readBody(message: IncomingMessage, limits: Limits, memory: Reservation): Promise<BodyReading> {
  const head = readHead(message);
  const refusal = validateDeclaredSize(head, limits);
  if (refusal !== null) return Promise.resolve(refuse(refusal));
  // Node emits no more events for a connection that is already closed.
  if (message.destroyed) return Promise.resolve(CLIENT_GONE);
  const collector = new BodyCollector(declaredSize(head), limits.max_request_body_bytes);
  return new Promise((resolve) => {
    const finish = (reading: BodyReading) => {
      clearTimeout(total);
      clearTimeout(silence);
      // The message and its listeners live until the answer is delivered. A listener would keep the body in memory.
      message.off("data", take).off("end", end).off("close", abort).off("error", abort);
      message.pause();
      if (reading.kind !== "body") collector.free();
      resolve(reading);
    };
    const end = () => finish({ kind: "body", body: collector.finish() });
    const abort = () => finish(CLIENT_GONE);
    const total = setTimeout(() => finish(refuse(bodyTooSlow())), MAX_BODY_MILLISECONDS);
    const silence = setTimeout(() => finish(refuse(bodyTooSlow())), BODY_SILENCE_MILLISECONDS);
    const take = (chunk: Buffer) => {
      silence.refresh();
      const bytes = collector.capacityWith(chunk.length);
      const cause = memory.isOverShare(bytes) ? "body_memory_share" : "body_memory";
      const isRoom = memory.resize(bytes);
      const problem = isRoom ? collector.add(chunk) : renderQueueFull(cause, NO_MEMORY_RETRY_SECONDS);
      if (problem !== null) finish(refuse(problem));
    };
    message.on("data", take).on("end", end).on("close", abort).on("error", abort);
  });
}

/** @returns whether the connection can be used again */
export async function discardBody(message: IncomingMessage): Promise<boolean> {
  if (message.complete || message.destroyed) return message.complete;
  if ((declaredSize(readHead(message)) ?? 0) > MAX_DISCARDED_BYTES) return false;
  await discard(new IncomingBody(message), STEADY_CLOCK);
  return message.complete;
}
