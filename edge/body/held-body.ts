/** The body of a valid request, kept until a backend has answered, so that another one can get it if that one fails. */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import type { BodyReservation } from "./body-memory.ts";

type CollectedBody = Pick<BodyCollector, "finish" | "free">;

export class HeldBody {
  readonly #reservation: BodyReservation;
  #collector: CollectedBody | null;

  constructor(collector: CollectedBody, reservation: BodyReservation) {
    this.#collector = collector;
    this.#reservation = reservation;
  }

  /** The bytes; null once another request has taken their memory. Do not keep them: `free` detaches their memory. */
  get bytes(): Uint8Array<ArrayBuffer> | null {
    return this.#collector?.finish() ?? null;
  }

  /** To be called when a backend has all of it. From now on, other requests may take its memory. */
  offer(): void {
    this.#reservation.offer(() => this.#free());
  }

  /** Before the body is sent again. */
  withdraw(): void {
    this.#reservation.withdraw();
  }

  release(): void {
    this.#free();
    this.#reservation.release();
  }

  #free(): void {
    this.#collector?.free();
    this.#collector = null;
  }
}
