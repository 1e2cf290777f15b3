/**
 * What one request asks backends beside its render, or instead of one. Cloudflare lets a request have six fetches that
 * wait for response headers; the seventh is queued, and its wait counts against its own time limit. On its Free plan a
 * request has 50 fetches in all (developers.cloudflare.com/workers/platform/limits). The same
 * bounds hold everywhere, so that a deployment behaves alike on every platform.
 */

/** Below six: one is left for the question to a name server. */
export const MAX_ASKED_AT_ONCE = 5;

/** A render itself is one fetch at a time, so a request has at most three that wait. */
const MAX_SIDE_REQUESTS_AT_ONCE = 2;
/**
 * At most 2 × backends + 10 fetches per render: a question and an attempt for each backend, 4 repeats, 6 probes. With
 * 20 backends that is the limit of 50. Probes beyond 6 are left to later requests.
 */
const MAX_PROBES = 6;
/** Of the probes, those for the backend that has the render. Until it is probed, the render stays with a silent one. */
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
