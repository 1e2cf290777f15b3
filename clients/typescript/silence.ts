/** How long an attempt waits while nothing comes: a service, or what is in front of it, may take a request and never answer. */
import { makeSilenceError } from "./errors.ts";

export interface SilenceEvent {
  /** For how long nothing has come. */
  readonly silentSeconds: number;
  /** After how many seconds the attempt ends. */
  readonly timeoutSeconds: number;
}

export interface SilencePolicy {
  readonly timeoutSeconds: number;
  readonly onSilence?: ((event: SilenceEvent) => void) | undefined;
}

/** More than a deployment takes by default, the upload included. Node's own `fetch` waits as long. */
export const DEFAULT_SILENCE_TIMEOUT_SECONDS = 300;
const MAX_SILENCE_TIMEOUT_SECONDS = 3600;
/** The edge answers by itself what is no render. */
const MAX_DOCUMENT_SILENCE_SECONDS = 60;
const NOTICE_SECONDS = 20;

/** @throws RangeError when the time is not a number in its range */
export function silencePolicy(
  timeoutSeconds = DEFAULT_SILENCE_TIMEOUT_SECONDS,
  onSilence?: SilencePolicy["onSilence"],
): SilencePolicy {
  if (timeoutSeconds > 0 && timeoutSeconds <= MAX_SILENCE_TIMEOUT_SECONDS) return { timeoutSeconds, onSilence };
  throw new RangeError(`silenceTimeoutSeconds must be a number above 0, up to ${MAX_SILENCE_TIMEOUT_SECONDS}.`);
}

/** Watches one attempt, which it ends when nothing comes for too long. */
export class SilenceWatch {
  readonly #url: URL;
  readonly #timeoutSeconds: number;
  readonly #onSilence: SilencePolicy["onSilence"];
  readonly #ending = new AbortController();
  /** Aborted when the watch ends the attempt, or by the caller's own signal. */
  readonly signal: AbortSignal;

  constructor(
    url: URL,
    isRender: boolean,
    { timeoutSeconds, onSilence }: SilencePolicy,
    callerSignal: AbortSignal | undefined,
  ) {
    this.#url = url;
    this.#timeoutSeconds = isRender ? timeoutSeconds : Math.min(timeoutSeconds, MAX_DOCUMENT_SILENCE_SECONDS);
    this.#onSilence = onSilence;
    const { signal } = this.#ending;
    this.signal = callerSignal === undefined ? signal : AbortSignal.any([callerSignal, signal]);
  }

  /** What `work` gives. @throws ServiceUnreachableError if that takes too long */
  async during<Result>(work: Promise<Result>): Promise<Result> {
    const timeoutSeconds = this.#timeoutSeconds;
    let timeout: ReturnType<typeof setTimeout> | undefined;
    const expired = new Promise<never>((_resolve, reject) => {
      timeout = setTimeout(() => {
        const error = makeSilenceError(this.#url, timeoutSeconds);
        reject(error);
        this.#ending.abort(error);
      }, timeoutSeconds * 1000);
    });
    const tell = () => this.#onSilence?.({ silentSeconds: NOTICE_SECONDS, timeoutSeconds });
    const notice = setTimeout(tell, NOTICE_SECONDS * 1000);
    try {
      return await Promise.race([work, expired]);
    } finally {
      clearTimeout(timeout);
      clearTimeout(notice);
    }
  }
}
