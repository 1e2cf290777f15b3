/** The network between edges and backends, like TCP: what it drops comes later; a host without power closes nothing. */
import type { Sending } from "../../edge/backends/try-backends.ts";
import { sendBody } from "../../edge/platform/cloudflare/send-body.ts";
import { MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { AttemptFacts, RequestFacts } from "./facts.ts";
import { OF_A_GIVEN_UP_ATTEMPT } from "./invariants.ts";
import type { ExchangeView, LinkView, ProcessView, SimulatedAnswer, WorldView } from "./parts.ts";

/** How much the kernel accepts for a process that does not read. */
const SOCKET_BUFFER_BYTES = 64 * 1024;
/** An upload that takes longer goes on in steps. */
const SLOW_UPLOAD_MILLISECONDS = 1000;
const UPLOAD_STEPS = 16;
/** The edge counts a body as sent when a connection has taken all but these. */
const LAST_BYTES = 3;
const MAX_SLOW_LATENCY_MILLISECONDS = 3000;
const MIN_LATENCY_MILLISECONDS = 0.2;

/** Whatever else it says, it does not say it in the service's own form, which the edge would rightly believe. */
export function foreignAnswer(status: number): SimulatedAnswer {
  return { status, headers: new Headers(), load: null, isRendered: false };
}

export class Link {
  readonly edge: number;
  readonly backend: number;
  /** The end of each fault. */
  readonly until: LinkView["until"] = { partition: 0, refuse: 0, "proxy error": 0, slow: 0, "half answers": 0 };
  readonly exchanges = new Set<ExchangeView>();
  readonly #world: WorldView;

  constructor(world: WorldView, edge: number, backend: number) {
    this.#world = world;
    this.edge = edge;
    this.backend = backend;
  }

  /** Calls back when a message has arrived on the other side. */
  carry(arrive: () => void): void {
    this.#world.time.after(this.#latencyMilliseconds(), () => this.#arrive(arrive));
  }

  /** Closes all connections, on both sides. */
  reset(): void {
    for (const exchange of [...this.exchanges]) exchange.break("connection reset", true);
  }

  #arrive(arrive: () => void): void {
    const { time } = this.#world;
    if (time.now >= this.until.partition) arrive();
    else time.after(this.until.partition - time.now + this.#latencyMilliseconds(), () => this.#arrive(arrive));
  }

  #latencyMilliseconds(): number {
    const { random, settings, time } = this.#world;
    const usual = MIN_LATENCY_MILLISECONDS + random.next() * settings.maxLatencyMilliseconds;
    return time.now < this.until.slow ? usual + random.next() * MAX_SLOW_LATENCY_MILLISECONDS : usual;
  }
}

/** One render on its way to a backend and back. */
export class Exchange {
  readonly request: RequestFacts;
  readonly timeBudgetMilliseconds: number;
  /** The answer's beginning; rejects when none begins. */
  readonly answer: Promise<SimulatedAnswer>;
  readonly #world: WorldView;
  readonly #link: LinkView;
  readonly #attempt: AttemptFacts;
  readonly #settle: PromiseWithResolvers<SimulatedAnswer>;
  readonly #body: BodyPipe;
  #process: ProcessView | null = null;
  /** Whether the edge has an answer, or no longer waits for one. */
  #isSettled = false;
  /** Nothing more is sent in either direction. */
  #isClosed = false;

  constructor(world: WorldView, link: LinkView, request: RequestFacts, attempt: AttemptFacts, sending: Sending) {
    this.#world = world;
    this.#link = link;
    this.request = request;
    this.#attempt = attempt;
    this.timeBudgetMilliseconds = sending.timeBudgetMilliseconds;
    this.#settle = Promise.withResolvers();
    this.answer = this.#settle.promise;
    sending.signal.addEventListener("abort", () => this.cancel());
    this.#body = new BodyPipe((bytes) => this.#recordTaken(bytes));
    const sent = sendBody(this.#body, sending.bytes, (part) => {
      if (!request.isGone) sending.reportTaken(part);
    });
    // What is left of a body that has been dropped cannot be sent.
    sent.catch(() => {});
    link.carry(() => this.#connect());
  }

  /** The edge gives it up. */
  cancel(): void {
    if (this.#isSettled) return;
    const { request } = this;
    this.#world.check(OF_A_GIVEN_UP_ATTEMPT, this.#name(), (invariant) =>
      invariant(request, this.#attempt, this.#world),
    );
    this.#fail("aborted");
    this.#close();
  }

  /** The answer's beginning goes to the edge. */
  respond(answer: SimulatedAnswer): void {
    this.#link.carry(() => {
      if (this.#isClosed || this.#isSettled) return;
      this.#isSettled = true;
      this.#world.trace(() => `${this.#name()}: ${answer.status}`);
      if (!this.request.isGone) this.#settle.resolve(answer);
      if (this.#world.time.now < this.#link.until["half answers"]) this.break("half an answer", true);
    });
  }

  /** The connection breaks. */
  break(cause: string, isProcessTold: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#link.exchanges.delete(this);
    this.#link.carry(() => this.#fail(cause));
    if (isProcessTold) this.#tellProcess();
  }

  #connect(): void {
    if (this.#isSettled) return;
    const { time, random } = this.#world;
    const link = this.#link;
    const backend = this.#world.backendAt(link.backend);
    // The first packet is sent again and again.
    if (time.now < backend.offUntil) {
      time.after(backend.offUntil - time.now, () => this.#connect());
      return;
    }
    if (time.now < link.until["proxy error"]) {
      if (random.chance(0.5)) this.#body.take(Number.POSITIVE_INFINITY);
      this.respond(foreignAnswer(random.pick([200, 404, 429, 502, 503])));
      return;
    }
    const { process } = backend;
    if (process === null || time.now < link.until.refuse) {
      this.break("connection refused", false);
      return;
    }
    this.#process = process;
    link.exchanges.add(this);
    process.connect(this);
    link.carry(() => this.#upload(process));
  }

  #upload(process: ProcessView): void {
    if (this.#isClosed) return;
    const { bytes, forwardMilliseconds } = this.request.planned;
    this.#body.take(SOCKET_BUFFER_BYTES);
    const steps = forwardMilliseconds < SLOW_UPLOAD_MILLISECONDS ? 1 : UPLOAD_STEPS;
    for (let step = 1; step < steps; step++) {
      this.#world.time.after((forwardMilliseconds * step) / steps, () => {
        if (!this.#isClosed) this.#body.take((bytes * step) / steps);
      });
    }
    this.#world.time.after(forwardMilliseconds, () => {
      if (this.#isClosed) return;
      this.#body.take(Number.POSITIVE_INFINITY);
      this.#link.carry(() =>
        process.run(() => {
          if (!this.#isClosed) process.receive(this);
        }),
      );
    });
  }

  /** What the connection has really taken, whatever the edge thinks of it. */
  #recordTaken(bytes: number): void {
    const attempt = this.#attempt;
    if (this.#isSettled || bytes === 0) return;
    attempt.isBegun = true;
    if (attempt.isSent || bytes < this.request.planned.bytes - LAST_BYTES) return;
    attempt.isSent = true;
    attempt.sentAt = this.#world.time.now;
    const took = attempt.sentAt - attempt.beganAt;
    const longer = Math.min(took, MAX_UPLOAD_MILLISECONDS - this.request.extendedMilliseconds);
    this.request.extendedMilliseconds += longer;
    this.request.deadline += longer;
  }

  #fail(cause: string): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#world.trace(() => `${this.#name()}: ${cause}`);
    // workerd does not resume a request whose client has disconnected.
    if (!this.request.isGone) this.#settle.reject(new Error(cause));
  }

  #close(): void {
    this.#isClosed = true;
    this.#link.exchanges.delete(this);
    this.#tellProcess();
  }

  #tellProcess(): void {
    const process = this.#process;
    if (process !== null) this.#link.carry(() => process.run(() => process.disconnect(this)));
  }

  #name(): string {
    return `request ${this.request.planned.id} at backend ${this.#link.backend}`;
  }
}

/** The most that workerd buffers: so many writes, and so many bytes. */
const BUFFERED_WRITES = 3;
const BUFFERED_BYTES = 76 * 1024;

/**
 * What workerd does with a body until a connection takes it, as measured on workerd 1.20261102. What the edge concludes
 * from it is tested on real sockets by test/service/edge/attempts.test.ts.
 */
class BodyPipe {
  readonly #onTaken: (bytes: number) => void;
  /** Where the writes that are buffered end, and those that wait. */
  #buffered: number[] = [];
  #waiting: { readonly end: number; readonly resolve: () => void }[] = [];
  #written = 0;
  #takes = 0;

  /** @param onTaken called with the number of bytes that the connection has taken so far */
  constructor(onTaken: (bytes: number) => void = () => {}) {
    this.#onTaken = onTaken;
  }

  /** Resolves when the bytes are buffered or taken. */
  write({ length }: Uint8Array): Promise<void> {
    this.#written += length;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ end: this.#written, resolve });
    this.#pump();
    return promise;
  }

  async close(): Promise<void> {}

  /** From now on, the connection takes so many bytes in all. */
  take(bytes: number): void {
    this.#takes = Math.max(this.#takes, bytes);
    this.#pump();
  }

  #pump(): void {
    const taken = Math.min(this.#takes, this.#written);
    this.#buffered = this.#buffered.filter((end) => end > taken);
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const { end, resolve } = next;
      const hasRoom = this.#buffered.length < BUFFERED_WRITES && end - taken <= BUFFERED_BYTES;
      if (end > taken && !hasRoom) break;
      if (end > taken) this.#buffered.push(end);
      this.#waiting.shift();
      resolve();
    }
    this.#onTaken(taken);
  }
}
