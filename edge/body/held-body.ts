/** The body of a valid request on its way to the backends: kept until one has answered, and sent to each in turn. */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import type { BodyReservation } from "./body-memory.ts";

export class HeldBody {
  readonly #collector: Pick<BodyCollector, "finish">;
  readonly #reservation: BodyReservation;

  /** @param reservation its release drops the body of the collector */
  constructor(collector: Pick<BodyCollector, "finish">, reservation: BodyReservation) {
    this.#collector = collector;
    this.#reservation = reservation;
  }

  /** The bytes; null once they are gone. Do not keep them: a release detaches their memory, and they are then empty. */
  get bytes(): Uint8Array<ArrayBuffer> | null {
    return this.#reservation.isReleased ? null : this.#collector.finish();
  }

  /** To be called when a backend has all of it. From now on, other requests may take its memory. */
  offer(): void {
    this.#reservation.offer();
  }

  withdraw(): void {
    this.#reservation.withdraw();
  }

  release(): void {
    this.#reservation.release();
  }
}
