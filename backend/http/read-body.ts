/** Reads a request's body within a size limit, a memory budget and a deadline. */
import type { IncomingMessage } from "node:http";
import {
  BODY_SILENCE_MILLISECONDS,
  BodyCollector,
  bodyTooSlow,
  DISCARD_SILENCE_MILLISECONDS,
  MAX_DISCARD_MILLISECONDS,
  MAX_DISCARDED_BYTES,
  NO_MEMORY_RETRY_SECONDS,
} from "../../protocol/body-collector.ts";
import type { Limits } from "../../rules/limits.ts";
import { renderQueueFull } from "../../rules/problem.ts";
import { MAX_BODY_MILLISECONDS } from "../../rules/render-time.ts";
import { declaredSize, type RequestHead, validateDeclaredSize } from "../../rules/request-head.ts";
import type { Reservation } from "../admission/byte-budget.ts";
import { CLIENT_GONE, type RenderFailure, refuse } from "../render/outcome.ts";

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
export async function readBody(message: IncomingMessage, limits: Limits, memory: Reservation): Promise<BodyReading> {
  const head = readHead(message);
  const refusal = validateDeclaredSize(head, limits);
  if (refusal !== null) return refuse(refusal);
  // Node emits no more events for a connection that is already closed.
  if (message.destroyed) return CLIENT_GONE;
  const collector = new BodyCollector(declaredSize(head), limits.max_request_body_bytes);
  const end = await takeChunks(message, BODY_SILENCE_MILLISECONDS, MAX_BODY_MILLISECONDS, (chunk) => {
    const bytes = collector.capacityWith(chunk.length);
    const cause = memory.isOverShare(bytes) ? "body_memory_share" : "body_memory";
    return memory.resize(bytes) ? collector.add(chunk) : renderQueueFull(cause, NO_MEMORY_RETRY_SECONDS);
  });
  if (end === "complete") return { kind: "body", body: collector.finish() };
  collector.free();
  return end === "gone" ? CLIENT_GONE : refuse(end === "late" ? bodyTooSlow() : end);
}

/** Many clients write the whole body before they read a refusal. @returns whether the connection can be used again */
export async function drainBody(message: IncomingMessage): Promise<boolean> {
  if (message.complete || message.destroyed) return message.complete;
  if ((declaredSize(readHead(message)) ?? 0) > MAX_DISCARDED_BYTES) return false;
  let drainedBytes = 0;
  await takeChunks(message, DISCARD_SILENCE_MILLISECONDS, MAX_DISCARD_MILLISECONDS, (chunk) => {
    drainedBytes += chunk.length;
    return drainedBytes > MAX_DISCARDED_BYTES ? "too long" : null;
  });
  return message.complete;
}

/** Reads until the body ends, `take` returns something, the time is up, or the client has gone. Then it reads no more. */
function takeChunks<Refusal>(
  message: IncomingMessage,
  silenceMilliseconds: number,
  totalMilliseconds: number,
  take: (chunk: Buffer) => Refusal | null,
): Promise<Refusal | "complete" | "late" | "gone"> {
  return new Promise((resolve) => {
    const finish = (end: Refusal | "complete" | "late" | "gone") => {
      clearTimeout(total);
      clearTimeout(silence);
      // The message and its listeners live until the answer is delivered. A listener would keep the body in memory.
      message.off("data", onData).off("end", onEnd).off("close", onGone).off("error", onGone);
      message.pause();
      resolve(end);
    };
    const onEnd = () => finish("complete");
    const onGone = () => finish("gone");
    const total = setTimeout(() => finish("late"), totalMilliseconds);
    const silence = setTimeout(() => finish("late"), silenceMilliseconds);
    const onData = (chunk: Buffer) => {
      silence.refresh();
      const refusal = take(chunk);
      if (refusal !== null) finish(refusal);
    };
    message.on("data", onData).on("end", onEnd).on("close", onGone).on("error", onGone).resume();
  });
}
