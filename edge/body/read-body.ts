/** Reads the body of a request within the size limit, the time limits and the memory for bodies. */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import { BODY_SILENCE_MILLISECONDS, bodyTooSlow, NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import { type Problem, problem, renderQueueFull } from "../../rules/problem.ts";
import { MAX_BODY_MILLISECONDS, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { Clock } from "../clock.ts";
import type { ClientRequest } from "../platform/platform.ts";
import type { BodyReservation } from "./body-memory.ts";
import { FairLimit } from "./fair-limit.ts";

/** In one isolate. A body that never comes takes 60 KB, which no other limit counts. */
export const MAX_UPLOADS = 1024;

/** How much longer than its deadlines a request may keep what it holds, to allow for delays in workerd. */
const SLACK_MILLISECONDS = 10_000;

export function makeUploadLimit(timeoutSeconds: number, clock?: Clock): FairLimit {
  return new FairLimit(MAX_UPLOADS, timeoutSeconds * 1000 + SLACK_MILLISECONDS, clock);
}

/** How long a render can take until an answer begins. */
export function longestRenderMilliseconds(bodyTimeoutSeconds: number, backendTimeoutSeconds: number): number {
  const seconds = bodyTimeoutSeconds + backendTimeoutSeconds;
  return seconds * 1000 + MAX_UPLOAD_MILLISECONDS + MAX_BODY_MILLISECONDS + SLACK_MILLISECONDS;
}

/** If the result is a problem, the rest of the body is not read. */
export async function readBody(
  { body }: ClientRequest,
  collector: BodyCollector,
  reservation: BodyReservation,
  timeoutSeconds: number,
  clock: Clock,
): Promise<Problem | null> {
  if (body === null) return null;
  const deadline = clock.now() + timeoutSeconds * 1000;
  let refusal: Problem | null = null;
  while (refusal === null && !collector.isComplete) {
    const chunk = await body.next(Math.min(BODY_SILENCE_MILLISECONDS, deadline - clock.now()), clock);
    if (chunk === "late") return bodyTooSlow();
    if (chunk === "broken") return problem("invalid_request", "The body did not arrive completely.", {});
    if (chunk === "end") break;
    const bytes = collector.capacityWith(chunk.length);
    const isRoom = reservation.tryGrowTo(bytes) || (await reservation.growTo(bytes));
    refusal = isRoom ? collector.add(chunk) : noMemory(reservation.isOverShare(bytes));
  }
  return refusal;
}

function noMemory(isOverShare: boolean): Problem {
  return renderQueueFull(isOverShare ? "edge_memory_share" : "edge_memory", NO_MEMORY_RETRY_SECONDS);
}
