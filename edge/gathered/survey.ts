/**
 * Asks all backends for the same small document, a few at a time: Cloudflare queues the seventh fetch of a request, and
 * counts its wait against its time limit. So the time of each begins when it is really sent.
 */
import { fetchText } from "../backends/backend.ts";
import { pickRandom } from "../backends/backend-choice.ts";
import { MAX_ASKED_AT_ONCE } from "../backends/side-requests.ts";
import { type Clock, MONOTONIC_CLOCK } from "../clock.ts";
import type { Backend } from "../platform/platform.ts";

const ANSWER_TIMEOUT_MILLISECONDS = 3000;
/** For all together: Prometheus waits ten seconds for a scrape by default. */
export const SURVEY_TIMEOUT_MILLISECONDS = 9500;

/** The answer of one backend; null if it does not come in time. */
type Ask = (backend: Backend, timeoutMilliseconds: number) => Promise<string | null>;

/** @param maxBytes of the document of one backend @param gatheredBytes how much may come from all together */
export function surveyOf(
  pool: { readonly backends: readonly Backend[] },
  path: string,
  maxBytes: number,
  gatheredBytes = Number.POSITIVE_INFINITY,
): BackendSurvey {
  return new BackendSurvey((backend, timeoutMilliseconds) => {
    const share = Math.floor(gatheredBytes / Math.max(1, pool.backends.length));
    return fetchText(backend, path, { maxBytes: Math.min(maxBytes, share), timeoutMilliseconds });
  });
}

export class BackendSurvey {
  readonly #ask: Ask;
  readonly #clock: Pick<Clock, "now">;
  readonly #random: () => number;
  /** When those that did not answer last time were asked. */
  readonly #silent = new Map<Backend, number>();

  constructor(ask: Ask, clock: Pick<Clock, "now"> = MONOTONIC_CLOCK, random: () => number = Math.random) {
    this.#ask = ask;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * What each backend answered; null if it did not answer, this time or the last time that it was asked. Others for
   * which there was no time are left out. Those that were silent are asked last, so that they take no time of the others.
   */
  async ask(backends: readonly Backend[]): Promise<ReadonlyMap<Backend, string | null>> {
    for (const backend of this.#silent.keys()) if (!backends.includes(backend)) this.#silent.delete(backend);
    const lastStart = this.#clock.now() + SURVEY_TIMEOUT_MILLISECONDS - ANSWER_TIMEOUT_MILLISECONDS;
    const silentSince = (backend: Backend) => this.#silent.get(backend) ?? Number.NEGATIVE_INFINITY;
    // A new isolate knows of none that is silent: those listed first must not take the time of all others.
    const left = pickRandom(backends, backends.length, this.#random).sort(
      (one, other) => Number(silentSince(one) > silentSince(other)) - Number(silentSince(one) < silentSince(other)),
    );
    const answers = new Map<Backend, string | null>();
    const askOneAfterAnother = async () => {
      for (let backend = left.shift(); backend !== undefined; backend = left.shift()) {
        const askedAt = this.#clock.now();
        if (askedAt > lastStart) return;
        const text = await this.#ask(backend, ANSWER_TIMEOUT_MILLISECONDS);
        if (text === null) this.#silent.set(backend, askedAt);
        else this.#silent.delete(backend);
        answers.set(backend, text);
      }
    };
    await Promise.all(Array.from({ length: MAX_ASKED_AT_ONCE }, askOneAfterAnother));
    // Silent backends are asked in turn. One that was not asked this time keeps its last verdict; otherwise an alert with
    // `for:` would never fire.
    for (const backend of backends) {
      if (!answers.has(backend) && this.#silent.has(backend)) answers.set(backend, null);
    }
    return answers;
  }
}
