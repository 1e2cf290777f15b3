/** How long one render may go on: until its client goes away or its time is used up. */
import type { BackendSettings } from "../start/settings.ts";
import { CLIENT_GONE, MAX_FILL_SECONDS, type RenderFailure, timedOut } from "./outcome.ts";

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
    return Math.max(1, this.#started + this.#settings.renderTimeoutSeconds * 1000 - performance.now());
  }

  /** Aborted when the files of the request must be written: `MAX_FILL_SECONDS` from now, or when the render is over. */
  fillOver(): AbortSignal {
    return AbortSignal.any([this.over, AbortSignal.timeout(MAX_FILL_SECONDS * 1000)]);
  }

  /** Why a render was stopped by `over`, or by `fillOver` before. */
  failure(): RenderFailure {
    if (this.clientGone.aborted) return CLIENT_GONE;
    return timedOut(this.over.aborted ? "wall_clock" : "writing_files", this.#settings);
  }
}
