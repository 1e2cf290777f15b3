/** Delivers a rendered file, with deadlines: a client that stops reading must not hold it forever. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { fileHeaders } from "../../protocol/rendered-file.ts";
import type { Output } from "../../rules/output-options.ts";
import type { Delivery, DeliveryEnd } from "../observe/render-metrics.ts";
import type { Spool } from "../render/spool.ts";

type Deadlines = Readonly<Record<"silenceMilliseconds" | "totalMilliseconds", number>>;

export class Deliveries {
  readonly #deadlines: Deadlines;
  #underWay = 0;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get underWay(): number {
    return this.#underWay;
  }

  async deliver(reply: FastifyReply, file: Spool, output: Output): Promise<Delivery> {
    const startMilliseconds = performance.now();
    this.#underWay++;
    try {
      reply.headers(fileHeaders(output));
      const end = await this.#send(reply, file);
      const milliseconds = performance.now() - startMilliseconds;
      return { end, run: { phase: "delivery", startMilliseconds, milliseconds } };
    } finally {
      this.#underWay--;
      await file.close();
    }
  }

  #send(reply: FastifyReply, file: Spool): Promise<DeliveryEnd> {
    const response = reply.raw;
    // The request's socket: a response has none while it waits behind another on the same connection.
    const { socket } = reply.request.raw;
    // `close` has already been emitted, and will not come again.
    if (response.destroyed || socket.destroyed) return Promise.resolve("client_gone");
    const { silenceMilliseconds, totalMilliseconds } = this.#deadlines;
    return new Promise((resolve) => {
      let reason: DeliveryEnd = "client_gone";
      const cut = (why: DeliveryEnd) => {
        reason = why;
        response.destroy();
      };
      const timer = setTimeout(() => cut("timed_out"), totalMilliseconds);
      // For Node, it is activity when the kernel accepts some of the written bytes.
      response.setTimeout(silenceMilliseconds, () => cut("silent"));
      const finish = () => {
        clearTimeout(timer);
        socket.off("close", finish);
        resolve(response.writableFinished ? "delivered" : reason);
      };
      response.once("close", finish);
      socket.once("close", finish);
      reply.header("Content-Length", file.size).send(file.bytes ?? Readable.from(file.read(), { objectMode: false }));
    });
  }
}
