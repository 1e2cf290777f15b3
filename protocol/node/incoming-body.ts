/** The body of a request in Node, in the pieces in which it arrives. It is not read before somebody asks for it. */
import type { IncomingMessage } from "node:http";
import type { BodyClock, BodyPiece, BodyReader } from "../body-collector.ts";

export class IncomingBody implements BodyReader {
  readonly #message: IncomingMessage;
  readonly #begin: () => void;
  #piece: Uint8Array | "end" | "broken" | null = null;
  #waiting: ((piece: BodyPiece) => void) | null = null;
  isBegun = false;
  isOver = false;

  /** @param begin called before the first piece is asked for */
  constructor(message: IncomingMessage, begin = () => {}) {
    this.#message = message;
    this.#begin = begin;
  }

  async next(timeBudgetMilliseconds: number, clock: BodyClock): Promise<BodyPiece> {
    if (!this.isBegun) this.#listen();
    const piece =
      timeBudgetMilliseconds > 0 ? (this.#take() ?? (await this.#wait(timeBudgetMilliseconds, clock))) : "late";
    if (typeof piece === "string") this.#end();
    return piece;
  }

  #take(): BodyPiece | null {
    const piece = this.#piece;
    this.#piece = null;
    return piece;
  }

  async #wait(timeBudgetMilliseconds: number, clock: BodyClock): Promise<BodyPiece> {
    const { promise, resolve } = Promise.withResolvers<BodyPiece>();
    this.#waiting = resolve;
    const cancel = clock.after(timeBudgetMilliseconds, () => this.#give("late"));
    this.#message.resume();
    const piece = await promise;
    cancel();
    return piece;
  }

  #listen(): void {
    this.isBegun = true;
    this.#begin();
    const message = this.#message;
    if (message.destroyed && !message.complete) this.#piece = "broken";
    message.on("data", this.#onData).on("end", this.#onEnd).on("close", this.#onClose).on("error", this.#onClose);
    message.pause();
  }

  #end(): void {
    this.isOver = true;
    const message = this.#message;
    // The message and its listeners live until the answer is delivered. A listener would keep the body in memory.
    message.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose).off("error", this.#onClose);
    message.pause();
  }

  readonly #onData = (piece: Buffer): void => {
    this.#message.pause();
    this.#give(piece);
  };
  readonly #onEnd = (): void => this.#give("end");
  readonly #onClose = (): void => this.#give(this.#message.complete ? "end" : "broken");

  #give(piece: BodyPiece): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    if (waiting !== null) waiting(piece);
    else if (piece !== "late") this.#piece ??= piece;
  }
}
