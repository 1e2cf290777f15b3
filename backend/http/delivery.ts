/** Delivers a rendered file, with deadlines: a client that stops reading must not hold it forever. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { fileHeaders } from "../../protocol/rendered-file.ts";
import type { Output } from "../../rules/output-options.ts";
import { ServiceFailure } from "../error-log.ts";
import type { Delivery, DeliveryEnd } from "../observe/render-metrics.ts";
import type { Spool } from "../render/spool.ts";
import { reportFailure, sendProblem } from "./problem-response.ts";

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

  /** If the output cannot be read, the client gets a problem, or, after a part of it, a connection that breaks. Never rejects. */
  async deliver(reply: FastifyReply, file: Spool, output: Output): Promise<Delivery> {
    const startMilliseconds = performance.now();
    this.#underWay++;
    try {
      const end = await this.#send(reply, file, output);
      const milliseconds = performance.now() - startMilliseconds;
      return { end, run: { phase: "delivery", startMilliseconds, milliseconds } };
    } finally {
      this.#underWay--;
      await file.close().catch((error: unknown) => reportFailure(reply.request, error));
    }
  }

  async #send(reply: FastifyReply, file: Spool, output: Output): Promise<DeliveryEnd> {
    const payload = file.bytes ?? (await openFile(file));
    if (payload instanceof Error) {
      sendProblem(reply.request, reply, reportFailure(reply.request, payload));
      return "failed";
    }
    const response = reply.raw;
    // `close` has already been emitted, and will not come again.
    if (response.destroyed) return "client_gone";
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
      response.once("close", () => {
        clearTimeout(timer);
        resolve(response.writableFinished ? "delivered" : reason);
      });
      if (payload instanceof Readable) {
        payload.once("error", (error) => {
          reportFailure(reply.request, error);
          cut("failed");
        });
      }
      reply.headers({ ...fileHeaders(output), "Content-Length": file.size }).send(payload);
    });
  }
}

/** Reads the beginning of a file before anything is sent. @returns the error if the file cannot be read */
async function openFile(file: Spool): Promise<Readable | Error> {
  const chunks = file.read();
  try {
    const first = await chunks.next();
    return first.done ? Readable.from([]) : Readable.from(startingWith(first.value, chunks), { objectMode: false });
  } catch (error) {
    return error instanceof Error ? error : new ServiceFailure("the file of an output cannot be read");
  }
}

async function* startingWith<Item>(first: Item, others: AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
  yield first;
  yield* others;
}
