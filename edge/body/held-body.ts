/**
 * The body of a valid request, kept until a backend has answered, so that it can be sent to another one if that backend fails.
 */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import type { Reservation } from "./body-memory.ts";

type CollectedBody = Pick<BodyCollector, "finish" | "free">;

export class HeldBody {
  readonly #reservation: Reservation;
  #collector: CollectedBody | null;

  constructor(collector: CollectedBody, reservation: Reservation) {
    this.#collector = collector;
    this.#reservation = reservation;
  }

  /** The bytes; null when they have been given up. Do not keep them: `free` detaches their memory. */
  get bytes(): Uint8Array<ArrayBuffer> | null {
    return this.#collector?.finish() ?? null;
  }

  /** To be called when a backend has all of it. From now on, other requests may take its memory. */
  offer(): void {
    this.#reservation.offer(() => this.#free());
  }

  /** Withdraws the offer, to send the body again. */
  withdraw(): void {
    this.#reservation.withdraw();
  }

  /** Frees the memory. */
  release(): void {
    this.#free();
    this.#reservation.release();
  }

  #free(): void {
    this.#collector?.free();
    this.#collector = null;
  }
}
