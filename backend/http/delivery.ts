/**
 * Delivering a finished output to its client, with deadlines: a client that stops reading must not hold it for ever.
 */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { Spool } from "../render/spool.ts";

/** How a delivery ended. */
export type DeliveryEnd = "delivered" | "client_gone" | "silent" | "timed_out";

export interface Delivery {
  readonly end: DeliveryEnd;
  readonly seconds: number;
}

export interface DeliveryDeadlines {
  /** How long the client may read nothing. */
  readonly silenceMilliseconds: number;
  /** How long the whole output may take. */
  readonly totalMilliseconds: number;
}

export class Deliveries {
  readonly #deadlines: DeliveryDeadlines;
  #underWay = 0;

  constructor(deadlines: DeliveryDeadlines) {
    this.#deadlines = deadlines;
  }

  /** Outputs that are being delivered. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Sends an output as the body of a reply whose headers are set, and waits until the last byte is sent. */
  async deliver(reply: FastifyReply, output: Spool): Promise<Delivery> {
    const started = performance.now();
    this.#underWay++;
    try {
      const end = await this.#send(reply, output);
      return { end, seconds: (performance.now() - started) / 1000 };
    } finally {
      this.#underWay--;
    }
  }

  #send(reply: FastifyReply, output: Spool): Promise<DeliveryEnd> {
    const response = reply.raw;
    // The socket of the request: a response that waits behind another on its connection has none yet.
    const { socket } = reply.request.raw;
    // `close` has been emitted already, so waiting for it would never end.
    if (response.destroyed || socket.destroyed) return Promise.resolve("client_gone");
    const { silenceMilliseconds, totalMilliseconds } = this.#deadlines;
    return new Promise((resolve) => {
      let reason: DeliveryEnd = "client_gone";
      const cut = (why: DeliveryEnd) => {
        reason = why;
        response.destroy();
      };
      const timer = setTimeout(() => cut("timed_out"), totalMilliseconds);
      // Node counts it as activity when the kernel takes some of what is written.
      response.setTimeout(silenceMilliseconds, () => cut("silent"));
      const finish = () => {
        clearTimeout(timer);
        socket.off("close", finish);
        resolve(response.writableFinished ? "delivered" : reason);
      };
      response.once("close", finish);
      socket.once("close", finish);
      reply
        .header("Content-Length", output.size)
        .send(output.bytes ?? Readable.from(output.read(), { objectMode: false }));
    });
  }
}
