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

/** The edge learns of a chunk as a whole that a connection has taken it, so chunks are small. */
const CHUNK_BYTES = 256 * 1024;
/**
 * A resolved write proves nothing: workerd buffers this many before there is a connection, however small they are
 * (1.20261102, tested by test/service/edge/attempts.test.ts). What came before is in a connection.
 */
const BUFFERED_WRITES = 3;
/** More than workerd buffers: 64 KiB and about 12 KiB behind it. */
const BUFFERED_BYTES = 128 * 1024;

/** What of a body a connection is certain to have taken: something of it, or all but the last three bytes. */
export type TakenPart = "some" | "all";

/** Rejects when a write fails, so when the connection breaks. */
export async function sendBody(
  writer: Pick<WritableStreamDefaultWriter<Uint8Array>, "write" | "close">,
  body: Uint8Array<ArrayBuffer>,
  reportTaken: (part: TakenPart) => void,
): Promise<void> {
  const end = Math.max(0, body.length - BUFFERED_WRITES);
  let isSomeTaken = false;
  for (let at = 0; at < end; at += CHUNK_BYTES) {
    await writer.write(body.subarray(at, Math.min(end, at + CHUNK_BYTES)));
    if (isSomeTaken || Math.min(end, at + CHUNK_BYTES) <= BUFFERED_BYTES) continue;
    isSomeTaken = true;
    reportTaken("some");
  }
  // One byte each: the last of these writes is buffered only when a connection has taken what comes before them.
  const last = Array.from(body.subarray(end), (_byte, index) =>
    writer.write(body.subarray(end + index, end + index + 1)),
  );
  await Promise.all(last);
  reportTaken("all");
  await writer.close();
}
