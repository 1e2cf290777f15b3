/** A backend: real code admits renders; around it is what `backend/http/render-route.ts` and `backend/main.ts` do. */
import { ByteBudget, type Reservation } from "../../backend/admission/byte-budget.ts";
import { RenderQueue, type SteadyClock } from "../../backend/admission/render-queue.ts";
import { NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import { FILE_MEDIA_TYPES } from "../../protocol/file-types.ts";
import { type BackendLoad, formatBackendLoad, LOAD_HEADER, PROBLEM_CODE_HEADER } from "../../protocol/headers.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "../../rules/problem.ts";
import { queueDeadlineMilliseconds, renderTimeoutWithin } from "../../rules/render-time.ts";
import { CallerFacts } from "./facts.ts";
import { OF_A_WAIT, type WaitFacts } from "./invariants.ts";
import { foreignAnswer } from "./network.ts";
import type { ExchangeView, SimulatedAnswer, WorldView } from "./parts.ts";
import type { Poison } from "./schedule.ts";

const IDLE_POLL_MILLISECONDS = 20;
/** What a backend says whose slots and queue are full from the beginning to the end. */
const FULL_RETRY_SECONDS = 1;
/** When a supervisor ends a process that does not answer, and how long the next one takes to start. */
const HANG_MILLISECONDS = 30_000;
const RESTART_MILLISECONDS = 500;
const PROBE_RENDER_MILLISECONDS = 15;

type RenderEnd = "file" | "problem" | "timeout" | "broken machine";

interface Reply {
  readonly content: "file" | ProblemCode;
  readonly retryAfterSeconds: number | null;
  readonly isRendered: boolean;
}

export class SimulatedBackend {
  readonly index: number;
  process: BackendProcess | null = null;
  /** The host is without power until then. */
  offUntil = 0;
  sickUntil = 0;
  /** Between these times it takes renders and never answers them. */
  greySince = Number.NEGATIVE_INFINITY;
  greyUntil = 0;
  readonly #world: WorldView;
  #whenReady: (() => void)[] = [];
  #endDowntime: ((now: number) => void) | null = null;

  constructor(world: WorldView, index: number) {
    this.#world = world;
    this.index = index;
    this.process = world.settings.absent.includes(index) ? null : new BackendProcess(world, this);
  }

  /** The process ends, and another one starts after a time. */
  kill(milliseconds: number, cause: string): void {
    this.#end(milliseconds, cause, true);
  }

  /** Like `kill`, but connections stay open and nobody notices. */
  losePower(milliseconds: number): void {
    this.offUntil = Math.max(this.offUntil, this.#world.time.now + milliseconds);
    this.#end(milliseconds, "power loss", false);
  }

  /** A new version: the process gets SIGTERM, ends, and another one is ready after a time. */
  update(milliseconds: number, ready: () => void): void {
    this.#whenReady.push(ready);
    this.process?.leave(milliseconds);
  }

  #end(milliseconds: number, cause: string, isClosing: boolean): void {
    const { time, disturbances } = this.#world;
    const { process } = this;
    if (process === null) return;
    this.#world.trace(() => `backend ${this.index}: ${cause}`);
    this.process = null;
    this.#endDowntime = disturbances.begin(time.now, this.index);
    process.die(isClosing);
    const boot = () => {
      if (time.now < this.offUntil) return void time.after(this.offUntil - time.now, boot);
      this.#world.trace(() => `backend ${this.index}: ready`);
      this.process = new BackendProcess(this.#world, this);
      this.#endDowntime?.(time.now);
      const ready = this.#whenReady;
      this.#whenReady = [];
      for (const call of ready) call();
    };
    time.after(milliseconds, boot);
  }
}

export class BackendProcess {
  readonly queue: RenderQueue;
  readonly memory: ByteBudget;
  /** Requests that have begun and whose answers are not completely delivered. */
  underWay = 0;
  readonly callers = new Map<string, CallerFacts>();
  /** Probes that run, as the renders themselves count them. */
  probing = 0;
  /** Who got a slot since the invariants were last checked, unless it is only lent, and what it had before. */
  readonly admitted: { readonly caller: CallerFacts; readonly running: number; readonly latestTurn: number }[] = [];
  /** Whether a request or a probe came or went since then. */
  hasChanged = false;
  #turns = 0;
  readonly #world: WorldView;
  readonly #backend: SimulatedBackend;
  readonly #connections = new Map<ExchangeView, Connection>();
  #stage: "serving" | "draining" | "refusing" = "serving";
  #isDead = false;
  #hasHung = false;
  #deferred: (() => void)[] | null = null;
  #endDisturbance: ((now: number) => void)[] = [];
  #exit: (() => void) | null = null;

  constructor(world: WorldView, backend: SimulatedBackend) {
    this.#world = world;
    this.#backend = backend;
    const { settings, time } = world;
    const clock: SteadyClock = {
      now: () => time.now,
      after: (milliseconds, callback) => this.#after(milliseconds, callback),
    };
    this.queue = new RenderQueue({
      slots: settings.slots,
      maxWaiting: settings.maxWaiting,
      deadlineMilliseconds: settings.queueDeadlineSeconds * 1000,
      clock,
    });
    this.memory = new ByteBudget(settings.backendMemoryBytes, settings.largestBodyBytes);
  }

  get load(): BackendLoad {
    const { slots, maxWaiting } = this.#world.settings;
    return {
      running: this.#isFull ? slots : this.queue.running,
      waiting: this.#isFull ? maxWaiting : this.queue.waiting,
      slots,
      isDraining: this.#stage !== "serving",
    };
  }

  get #isFull(): boolean {
    return this.#world.settings.full.includes(this.#backend.index);
  }

  callerOf(name: string): CallerFacts {
    const known = this.callers.get(name) ?? new CallerFacts();
    this.callers.set(name, known);
    return known;
  }

  /** Does something in the process: later if it hangs, never if it has ended. */
  run(action: () => void): void {
    if (this.#isDead) return;
    if (this.#deferred === null) action();
    else this.#deferred.push(action);
  }

  hang(milliseconds: number): void {
    if (this.#deferred !== null || this.#isDead) return;
    this.#world.trace(() => `backend ${this.#backend.index}: hangs`);
    this.#deferred = [];
    this.#hasHung = true;
    const { time, disturbances } = this.#world;
    const end = disturbances.begin(time.now, this.#backend.index);
    this.#endDisturbance.push(end);
    time.after(milliseconds, () => {
      end(time.now);
      const deferred = this.#deferred ?? [];
      this.#deferred = null;
      for (const action of deferred) time.after(0, () => this.run(action));
    });
  }

  /** SIGTERM. */
  leave(bootMilliseconds: number): void {
    this.run(() => {
      if (this.#stage !== "serving") return;
      this.#world.trace(() => `backend ${this.#backend.index}: SIGTERM`);
      this.#stage = "draining";
      this.#after(this.#world.settings.drainDelayMilliseconds, () => this.#drain(bootMilliseconds));
    });
  }

  die(isClosing: boolean): void {
    this.#isDead = true;
    for (const end of this.#endDisturbance) end(this.#world.time.now);
    if (!isClosing) return;
    for (const exchange of this.#connections.keys()) exchange.break("connection reset", false);
  }

  connect(exchange: ExchangeView): void {
    const connection = new Connection(this.#world.time.now);
    this.#connections.set(exchange, connection);
    this.run(() => {
      this.underWay++;
      void this.#handle(exchange, connection).then(() => {
        this.#connections.delete(exchange);
        this.underWay--;
        if (this.underWay === 0) this.#exit?.();
      });
    });
  }

  /** The whole body is there. */
  receive(exchange: ExchangeView): void {
    this.#connections.get(exchange)?.receive();
  }

  disconnect(exchange: ExchangeView): void {
    this.#connections.get(exchange)?.close();
  }

  #after(milliseconds: number, callback: () => void): () => void {
    let isCancelled = false;
    const call = () => {
      // Also one that was due while the process hung can still be cancelled.
      if (!isCancelled) callback();
    };
    const cancel = this.#world.time.after(milliseconds, () => this.run(call));
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  #drain(bootMilliseconds: number): void {
    const { time, settings, disturbances } = this.#world;
    this.#world.trace(() => `backend ${this.#backend.index}: rejects renders`);
    this.#stage = "refusing";
    this.#endDisturbance.push(disturbances.begin(time.now, this.#backend.index));
    const exit = () => this.#backend.kill(bootMilliseconds, "exit");
    const exitIfIdle = () => {
      if (this.underWay === 0) exit();
    };
    this.#exit = () => this.#after(IDLE_POLL_MILLISECONDS, exitIfIdle);
    this.#after(0, exitIfIdle);
    this.#after(settings.graceMilliseconds, exit);
  }

  async #handle(exchange: ExchangeView, connection: Connection): Promise<void> {
    const { caller } = exchange.request.planned;
    const memory = this.memory.open(caller);
    let reply: Reply | null;
    try {
      reply = await this.#replyTo(exchange, connection, memory);
    } finally {
      this.callerOf(caller).bodyBytes -= memory.bytes;
      memory.release();
    }
    if (reply === null || connection.gone.aborted) return;
    const isUnreadable = exchange.request.planned.refusal === "foreign";
    exchange.respond(isUnreadable ? foreignAnswer(PROBLEMS.invalid_request.status) : this.#answerOf(reply));
    await this.#deliver(exchange, connection);
  }

  async #replyTo(exchange: ExchangeView, connection: Connection, memory: Reservation): Promise<Reply | null> {
    if (exchange.request.planned.refusal !== null) return refusal("invalid_request");
    if (this.#world.time.now < this.#backend.greyUntil) return connection.closed;
    if (this.#stage === "refusing") return refusal("service_unavailable");
    return this.#render(exchange, connection, memory);
  }

  /** A render of the edge's own. It is not answered if it should not be. */
  probe(answer: (answer: SimulatedAnswer) => void): void {
    const { time } = this.#world;
    if (time.now < this.#backend.greyUntil) return;
    const respond = (reply: Reply) => answer(this.#answerOf(reply));
    if (this.#stage === "refusing") {
      respond(refusal("service_unavailable"));
      return;
    }
    this.underWay++;
    const work = async (): Promise<Reply> => {
      this.probing++;
      this.hasChanged = true;
      await new Promise<void>((resolve) => this.#after(PROBE_RENDER_MILLISECONDS, resolve));
      this.probing--;
      this.hasChanged = true;
      return time.now < this.#backend.sickUntil ? refusal("service_unavailable") : FILE;
    };
    void this.queue.runIfFree(work).then((admission) => {
      respond(admission.kind === "done" ? admission.result : refusal("render_queue_full", admission.retryAfterSeconds));
      this.underWay--;
      if (this.underWay === 0) this.#exit?.();
    });
  }

  #answerOf({ content, retryAfterSeconds, isRendered }: Reply): SimulatedAnswer {
    const { load } = this;
    const headers = new Headers({ [LOAD_HEADER]: formatBackendLoad(load) });
    if (retryAfterSeconds !== null) headers.set("Retry-After", String(retryAfterSeconds));
    headers.set("Content-Type", content === "file" ? FILE_MEDIA_TYPES.pdf : PROBLEM_MEDIA_TYPE);
    if (content !== "file") headers.set(PROBLEM_CODE_HEADER, content);
    return { status: content === "file" ? 200 : PROBLEMS[content].status, headers, load, isRendered };
  }

  /** Body, slot, render; null if the client has gone. */
  async #render(exchange: ExchangeView, connection: Connection, memory: Reservation): Promise<Reply | null> {
    const { planned } = exchange.request;
    const caller = this.callerOf(planned.caller);
    const grow = (bytes: number) => {
      const before = memory.bytes;
      const hasRoom = memory.resize(bytes);
      caller.bodyBytes += memory.bytes - before;
      return hasRoom;
    };
    if (!grow(Math.ceil(planned.bytes / 2))) return refusal("render_queue_full", NO_MEMORY_RETRY_SECONDS);
    if (!(await connection.body)) return null;
    if (this.#isFull) return refusal("render_queue_full", FULL_RETRY_SECONDS);
    if (!grow(planned.bytes)) return refusal("render_queue_full", NO_MEMORY_RETRY_SECONDS);
    const answerBy = connection.openedAt + exchange.timeBudgetMilliseconds;
    const arrivedAt = this.#world.time.now;
    const deadlineMilliseconds = queueDeadlineMilliseconds(this.#world.settings, Math.max(0, answerBy - arrivedAt));
    const asking = Symbol("asking");
    caller.asking.add(asking);
    caller.lastSeenAt = arrivedAt;
    this.hasChanged = true;
    let isAdmitted = false;
    const applicant = { caller: planned.caller, signal: connection.gone, deadlineMilliseconds };
    const check = (kind: WaitFacts["kind"]) => {
      const wait = {
        kind,
        waitedMilliseconds: this.#world.time.now - arrivedAt,
        allowedMilliseconds: deadlineMilliseconds,
        waiting: this.queue.waiting,
        freeSlots: this.#world.settings.slots - this.queue.running,
        isOldest: [...caller.asking][0] === asking,
        isNewest: [...caller.asking].at(-1) === asking,
        ofCaller: caller.asking.size,
        ofOthers: Math.max(...[...this.callers.values()].map((other) => other.asking.size)),
        isGone: connection.gone.aborted,
        hasHung: this.#hasHung,
      };
      const where = `request ${planned.id} at backend ${this.#backend.index}`;
      this.#world.check(OF_A_WAIT, where, (invariant) => invariant(wait, this.#world));
    };
    const admission = await this.queue.run(applicant, async (withdrawn) => {
      isAdmitted = true;
      check(withdrawn === null ? "admitted" : "lent");
      caller.asking.delete(asking);
      const end = await this.#work(exchange, connection, withdrawn);
      // As with a render whose client has left, unless it is known to have stopped for another reason.
      return end === null && !connection.gone.aborted ? null : { end };
    });
    if (admission.kind === "full" && !isAdmitted) check("full");
    caller.asking.delete(asking);
    switch (admission.kind) {
      case "left":
        return null;
      case "full":
        return refusal("render_queue_full", admission.retryAfterSeconds);
      case "done":
        return admission.result.end && REPLIES[admission.result.end];
    }
  }

  async #work(exchange: ExchangeView, connection: Connection, withdrawn: AbortSignal | null) {
    const { planned } = exchange.request;
    const { time, settings } = this.#world;
    const caller = this.callerOf(planned.caller);
    const render = { beganAt: time.now, isLent: withdrawn !== null };
    this.#world.trace(() => `backend ${this.#backend.index}: renders request ${planned.id}`);
    if (withdrawn === null) this.admitted.push({ caller, running: caller.running.size, latestTurn: caller.latestTurn });
    caller.running.add(render);
    this.hasChanged = true;
    caller.latestTurn = ++this.#turns;
    const left = connection.openedAt + exchange.timeBudgetMilliseconds - time.now;
    const timeout = renderTimeoutWithin(settings.renderTimeoutSeconds, left) * 1000;
    const cancel: (() => void)[] = [];
    let isWhole = false;
    try {
      return await new Promise<RenderEnd | null>((resolve) => {
        connection.gone.addEventListener("abort", () => resolve(null));
        withdrawn?.addEventListener("abort", () => resolve(null));
        const end = (): RenderEnd => {
          isWhole = true;
          if (planned.renderMilliseconds > timeout) return "timeout";
          if (time.now < this.#backend.sickUntil) return "broken machine";
          return planned.isFaulty ? "problem" : "file";
        };
        cancel.push(this.#after(Math.min(timeout, planned.renderMilliseconds), () => resolve(end())));
        const { poison } = planned;
        if (poison !== null)
          cancel.push(this.#after(poison.afterMilliseconds, () => this.#bringDown(exchange, poison)));
      });
    } finally {
      for (const stop of cancel) stop();
      caller.running.delete(render);
      caller.ended(time.now - render.beganAt, time.now, isWhole);
      this.hasChanged = true;
    }
  }

  #bringDown({ request }: ExchangeView, { kind }: Poison): void {
    request.broughtDown++;
    if (kind === "kill") {
      this.#backend.kill(RESTART_MILLISECONDS, "brought down");
      return;
    }
    this.hang(HANG_MILLISECONDS);
    this.#world.time.after(HANG_MILLISECONDS - 1, () => {
      if (!this.#isDead) this.#backend.kill(RESTART_MILLISECONDS, "hung process ended");
    });
  }

  /** The answer takes as long as the client reads it. */
  async #deliver({ request }: ExchangeView, connection: Connection): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#after(request.planned.deliveryMilliseconds, resolve);
      connection.gone.addEventListener("abort", () => {
        cancel();
        resolve();
      });
    });
  }
}

/** What a process knows of one connection. */
class Connection {
  readonly openedAt: number;
  readonly #gone = new AbortController();
  readonly #body = Promise.withResolvers<boolean>();
  /** Aborted when the other side has closed it. */
  readonly gone = this.#gone.signal;
  /** Whether the whole body came. */
  readonly body = this.#body.promise;

  constructor(openedAt: number) {
    this.openedAt = openedAt;
  }

  /** Resolves when the other side has closed it. */
  get closed(): Promise<null> {
    return new Promise((resolve) => this.gone.addEventListener("abort", () => resolve(null)));
  }

  receive(): void {
    this.#body.resolve(true);
  }

  close(): void {
    this.#body.resolve(false);
    this.#gone.abort("closed");
  }
}

const FILE: Reply = { content: "file", retryAfterSeconds: null, isRendered: true };

function refusal(content: ProblemCode, retryAfterSeconds: number | null = null): Reply {
  return { content, retryAfterSeconds, isRendered: false };
}

const REPLIES: Readonly<Record<RenderEnd, Reply>> = {
  file: FILE,
  problem: { ...FILE, content: "template_compile_failed" },
  timeout: { ...FILE, content: "render_timeout" },
  "broken machine": refusal("service_unavailable"),
};
