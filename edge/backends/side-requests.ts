/**
 * What one request asks backends beside its render, or instead of one. Cloudflare lets a request have six fetches that
 * wait for response headers; the seventh is queued, and its wait counts against its own time limit. On its Free plan a
 * request has 50 fetches in all (developers.cloudflare.com/workers/platform/limits, read on 2026-11-28). The same
 * bounds hold everywhere, so that a deployment behaves alike on every platform.
 */

/** Below six: one is left for the question to a name server. */
export const MAX_ASKED_AT_ONCE = 5;

/** A render itself is one fetch at a time, so a request has at most three that wait. */
const MAX_SIDE_REQUESTS_AT_ONCE = 2;
/**
 * With a question to each backend, an attempt at each and four more, a render has at most ten fetches more than twice
 * the number of backends: all of the 50 for twenty. Later requests send the other probes.
 */
const MAX_PROBES = 6;
/** Of these, for whichever backend has the render: while nothing is heard of a silent one, the render stays there. */
const PROBES_OF_OWN_BACKENDS = 2;

/** The probes and questions of one render. They share two places, one of which only its own backend's probe may take. */
export class SideRequests {
  #underWay = 0;
  #probes = 0;

  /** How many probes may be sent now. @param isOfOwnBackend of the one that has the render, which waits for the result */
  probesAllowed(isOfOwnBackend: boolean): number {
    const places = MAX_SIDE_REQUESTS_AT_ONCE - this.#underWay - (isOfOwnBackend ? 0 : 1);
    const left = MAX_PROBES - this.#probes - (isOfOwnBackend ? 0 : PROBES_OF_OWN_BACKENDS);
    return Math.max(0, Math.min(places, left));
  }

  /** How many questions may be asked at once: each backend gets one. */
  get questionsAllowed(): number {
    return Math.max(0, MAX_SIDE_REQUESTS_AT_ONCE - this.#underWay);
  }

  async send<Answer>(kind: "probe" | "question", send: () => Promise<Answer>): Promise<Answer> {
    if (kind === "probe") this.#probes++;
    this.#underWay++;
    try {
      return await send();
    } finally {
      this.#underWay--;
    }
  }
}
