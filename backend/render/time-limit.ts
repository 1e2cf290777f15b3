/**
 * How long one render may go on: until its client goes away or its time is used up.
 */
import type { BackendSettings } from "../settings.ts";
import { CLIENT_GONE, type RenderFailure, renderTimeout } from "./outcome.ts";

export class TimeLimit {
  /** Aborted when the client goes away. */
  readonly clientGone: AbortSignal;
  /** Aborted when the client goes away or the render timeout has passed. */
  readonly over: AbortSignal;
  readonly #settings: BackendSettings;
  readonly #started = performance.now();

  /** The time runs from here on. */
  constructor(settings: BackendSettings, clientGone: AbortSignal) {
    this.#settings = settings;
    this.clientGone = clientGone;
    this.over = AbortSignal.any([clientGone, AbortSignal.timeout(settings.renderTimeoutSeconds * 1000)]);
  }

  /** What is left of the render timeout; at least 1. */
  get millisecondsLeft(): number {
    return this.#leftOf(this.#settings.renderTimeoutSeconds);
  }

  /**
   * What is left for a second process, which has a processor time of its own; at least 1. With it, a render still computes
   * no longer than `renderCpuSeconds`.
   */
  get probeMillisecondsLeft(): number {
    return this.#leftOf(this.#settings.renderCpuSeconds);
  }

  /** Why a render was stopped: its client has gone, or its time is used up. */
  get failure(): RenderFailure {
    return this.clientGone.aborted ? CLIENT_GONE : renderTimeout(this.#settings);
  }

  #leftOf(seconds: number): number {
    return Math.max(1, this.#started + seconds * 1000 - performance.now());
  }
}
