/**
 * A backend: a host that runs one process after another. The code that admits renders is the real one; the rest does what
 * `backend/http/render-route.ts` and `backend/main.ts` do, without I/O.
 */
import { ByteBudget } from "../../backend/admission/byte-budget.ts";
import type { Clock } from "../../backend/admission/clock.ts";
import type { RenderQueue } from "../../backend/admission/render-queue.ts";
import type { BackendAnswer } from "../../edge/backends/backend-answer.ts";
import { PROBE_CALLER } from "../../protocol/headers.ts";
import { PROBLEMS, type ProblemCode } from "../../rules/problem.ts";
import { queueDeadlineMilliseconds } from "../../rules/render-time.ts";
import type { WaitFacts } from "./invariants.ts";
import { type Exchange, foreignAnswer, type SimulatedAnswer } from "./network.ts";
import type { Poison } from "./schedule.ts";
import type { World } from "./world.ts";

const IDLE_POLL_MILLISECONDS = 20;
const NO_MEMORY_RETRY_SECONDS = 2;
/** When a supervisor ends a process that does not answer, and how long the next one takes to start. */
const HANG_MILLISECONDS = 30_000;
const RESTART_MILLISECONDS = 500;
/** How long the edge's own render takes. */
const PROBE_RENDER_MILLISECONDS = 15;

/** How a render ended. */
type RenderEnd = "file" | "problem" | "timeout" | "broken machine";

/** How a process answers a request. */
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
  /** When its process ended; null while there is one. */
  downSince: number | null = null;
  readonly #world: World;
  #whenReady: (() => void)[] = [];
  #endDowntime: ((now: number) => void) | null = null;

  constructor(world: World, index: number) {
    this.#world = world;
    this.index = index;
    this.process = new BackendProcess(world, this);
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
    this.downSince = time.now;
    this.#endDowntime = disturbances.begin(cause, time.now, this.index);
    process.die(isClosing);
    const boot = () => {
      if (time.now < this.offUntil) return void time.after(this.offUntil - time.now, boot);
      this.#world.trace(() => `backend ${this.index}: ready`);
      this.process = new BackendProcess(this.#world, this);
      this.downSince = null;
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
  /** Renders that run, as the renders themselves count them. */
  readonly rendering = new Map<string, number>();
  /** Those of them whose slot is only lent. */
  readonly lent = new Map<string, number>();
  /** Requests that asked for a slot and have neither got one nor been refused. */
  readonly asking = new Map<string, number>();
  /** The callers that got a slot since the invariants were last checked. */
  readonly admitted: string[] = [];
  readonly #renders = new Set<{ readonly caller: string; readonly began: number }>();
  readonly #longest = new Map<string, number>();
  readonly #world: World;
  readonly #backend: SimulatedBackend;
  readonly #connections = new Map<Exchange, Connection>();
  #stage: "serving" | "leaving" | "draining" = "serving";
  #isDead = false;
  #hasHung = false;
  #deferred: (() => void)[] | null = null;
  #endDisturbance: ((now: number) => void)[] = [];
  #exit: (() => void) | null = null;

  constructor(world: World, backend: SimulatedBackend) {
    this.#world = world;
    this.#backend = backend;
    const { settings, time } = world;
    const clock: Clock = {
      nowSeconds: () => time.now / 1000,
      after: (milliseconds, callback) => this.#after(milliseconds, callback),
    };
    this.queue = world.cores.makeQueue({
      slots: settings.slots,
      maxWaiting: settings.maxWaiting,
      deadlineMilliseconds: settings.queueDeadlineSeconds * 1000,
      clock,
    });
    this.memory = new ByteBudget({
      maxBytes: settings.backendMemoryBytes,
      maxBytesPerRequest: settings.largestBodyBytes,
    });
  }

  /** Whether it has not been told to end. */
  get isServing(): boolean {
    return this.#stage === "serving";
  }

  /** The longest time, in milliseconds, for which a caller has held a slot. */
  longestOf(caller: string): number {
    let longest = this.#longest.get(caller) ?? 0;
    for (const render of this.#renders) {
      if (render.caller === caller) longest = Math.max(longest, this.#world.time.now - render.began);
    }
    return longest;
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
    const end = disturbances.begin("hang", time.now, this.#backend.index);
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
      this.#stage = "leaving";
      this.#after(this.#world.settings.drainDelayMilliseconds, () => this.#drain(bootMilliseconds));
    });
  }

  die(isClosing: boolean): void {
    this.#isDead = true;
    for (const end of this.#endDisturbance) end(this.#world.time.now);
    if (!isClosing) return;
    for (const exchange of this.#connections.keys()) exchange.break("connection reset", false);
  }

  connect(exchange: Exchange): void {
    const connection = new Connection();
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
  receive(exchange: Exchange): void {
    this.#connections.get(exchange)?.receive();
  }

  disconnect(exchange: Exchange): void {
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
    this.#stage = "draining";
    this.#endDisturbance.push(disturbances.begin("draining", time.now, this.#backend.index));
    const exit = () => this.#backend.kill(bootMilliseconds, "exit");
    const exitIfIdle = () => {
      if (this.underWay === 0) exit();
    };
    this.#exit = () => this.#after(IDLE_POLL_MILLISECONDS, exitIfIdle);
    this.#after(0, exitIfIdle);
    this.#after(settings.graceMilliseconds, exit);
  }

  async #handle(exchange: Exchange, connection: Connection): Promise<void> {
    const { caller } = exchange.request.planned;
    const memory = this.memory.open(caller);
    let reply: Reply | null;
    try {
      reply = await this.#replyTo(exchange, connection, memory);
    } finally {
      memory.release();
    }
    if (reply === null || connection.gone.aborted) return;
    const isUnreadable = exchange.request.planned.refusal === "foreign";
    exchange.respond(isUnreadable ? foreignAnswer(PROBLEMS.invalid_request.status) : this.#answerOf(reply));
    await this.#deliver(exchange, connection);
  }

  async #replyTo(
    exchange: Exchange,
    connection: Connection,
    memory: ReturnType<ByteBudget["open"]>,
  ): Promise<Reply | null> {
    if (exchange.request.planned.refusal !== null) return refusal("invalid_request");
    if (this.#world.time.now < this.#backend.greyUntil) return connection.closed;
    if (this.#stage === "draining") return refusal("service_unavailable");
    return this.#render(exchange, connection, memory);
  }

  /** A render of the edge's own. It is not answered if it should not be. */
  probe(answer: (answer: BackendAnswer<null>) => void): void {
    const { time } = this.#world;
    if (time.now < this.#backend.greyUntil) return;
    const respond = (reply: Reply) => answer({ ...this.#answerOf(reply), answer: null });
    if (this.#stage === "draining") {
      respond(refusal("service_unavailable"));
      return;
    }
    this.underWay++;
    const work = async (): Promise<Reply> => {
      change(this.rendering, PROBE_CALLER, 1);
      await new Promise<void>((resolve) => this.#after(PROBE_RENDER_MILLISECONDS, resolve));
      change(this.rendering, PROBE_CALLER, -1);
      return time.now < this.#backend.sickUntil ? refusal("service_unavailable") : FILE;
    };
    void this.queue.runIfFree(work).then((admission) => {
      respond(admission.kind === "done" ? admission.result : refusal("render_queue_full", admission.retryAfterSeconds));
      this.underWay--;
      if (this.underWay === 0) this.#exit?.();
    });
  }

  #answerOf({ content, retryAfterSeconds, isRendered }: Reply): BackendAnswer<SimulatedAnswer> {
    const status = content === "file" ? 200 : PROBLEMS[content].status;
    return {
      status,
      content,
      retryAfter: retryAfterSeconds === null ? null : String(retryAfterSeconds),
      load: {
        running: this.queue.running,
        waiting: this.queue.waiting,
        slots: this.#world.settings.slots,
        isDraining: this.#stage !== "serving",
      },
      answer: { status, isRendered },
    };
  }

  /** Body, slot, render; null if the client has gone. */
  async #render(
    exchange: Exchange,
    connection: Connection,
    memory: ReturnType<ByteBudget["open"]>,
  ): Promise<Reply | null> {
    const { planned } = exchange.request;
    if (!memory.resize(Math.ceil(planned.bytes / 2))) return refusal("render_queue_full", NO_MEMORY_RETRY_SECONDS);
    if (!(await connection.body)) return null;
    if (!memory.resize(planned.bytes)) return refusal("render_queue_full", NO_MEMORY_RETRY_SECONDS);
    const deadlineMilliseconds = queueDeadlineMilliseconds(this.#world.settings, exchange.patienceMilliseconds);
    const { caller } = planned;
    change(this.asking, caller, 1);
    let isAdmitted = false;
    const applicant = { caller, signal: connection.gone, deadlineMilliseconds };
    const arrivedAt = this.#world.time.now;
    const check = (kind: WaitFacts["kind"]) => {
      this.#world.waitEnds(exchange.request, {
        kind,
        waitedMilliseconds: this.#world.time.now - arrivedAt,
        allowedMilliseconds: deadlineMilliseconds,
        waiting: this.queue.waiting,
        freeSlots: this.#world.settings.slots - this.queue.running,
        isGone: connection.gone.aborted,
        hasHung: this.#hasHung,
      });
    };
    const admission = await this.queue.run(applicant, async (withdrawn) => {
      isAdmitted = true;
      check(withdrawn === null ? "admitted" : "lent");
      change(this.asking, caller, -1);
      const end = await this.#work(exchange, connection, withdrawn);
      // As with a render whose client has left, unless it is known to have stopped for another reason.
      return end === null && !connection.gone.aborted ? null : { end };
    });
    if (!isAdmitted) change(this.asking, caller, -1);
    switch (admission.kind) {
      case "left":
        return null;
      case "full":
        if (!isAdmitted) check("full");
        return refusal("render_queue_full", admission.retryAfterSeconds);
      case "done":
        return replyTo(admission.result.end);
    }
  }

  async #work(exchange: Exchange, connection: Connection, withdrawn: AbortSignal | null): Promise<RenderEnd | null> {
    const { planned } = exchange.request;
    const { time, settings } = this.#world;
    const { caller } = planned;
    const render = { caller, began: time.now };
    this.#world.trace(() => `backend ${this.#backend.index}: renders request ${planned.id}`);
    change(this.rendering, caller, 1);
    this.#renders.add(render);
    if (withdrawn === null) this.admitted.push(caller);
    else change(this.lent, caller, 1);
    const timeout = settings.renderTimeoutSeconds * 1000;
    const cancel: (() => void)[] = [];
    try {
      return await new Promise<RenderEnd | null>((resolve) => {
        connection.gone.addEventListener("abort", () => resolve(null));
        withdrawn?.addEventListener("abort", () => resolve(null));
        const end = (): RenderEnd => {
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
      change(this.rendering, caller, -1);
      if (withdrawn !== null) change(this.lent, caller, -1);
      this.#renders.delete(render);
      this.#longest.set(caller, Math.max(this.#longest.get(caller) ?? 0, time.now - render.began));
    }
  }

  #bringDown({ request }: Exchange, { kind }: Poison): void {
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
  async #deliver({ request }: Exchange, connection: Connection): Promise<void> {
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
  readonly #gone = new AbortController();
  readonly #body = Promise.withResolvers<boolean>();

  /** Aborted when the other side has closed it. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Resolves when the other side has closed it. */
  get closed(): Promise<null> {
    return new Promise((resolve) => this.gone.addEventListener("abort", () => resolve(null)));
  }

  /** Whether the whole body came. */
  get body(): Promise<boolean> {
    return this.#body.promise;
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

function replyTo(end: RenderEnd | null): Reply | null {
  switch (end) {
    case null:
      return null;
    case "file":
      return FILE;
    case "problem":
      return { ...FILE, content: "template_compile_failed" };
    case "timeout":
      return { ...FILE, content: "render_timeout" };
    case "broken machine":
      return refusal("service_unavailable");
  }
}

function change(counts: Map<string, number>, key: string, difference: number): void {
  const count = (counts.get(key) ?? 0) + difference;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
