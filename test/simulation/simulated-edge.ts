/**
 * An edge: one isolate. What decides is the real code; around it is what `edge/routes/render.ts` does. As in workerd, a
 * request whose client has disconnected is not continued: none of its promises resolves any more.
 */
import { BackendChoice } from "../../edge/backends/backend-choice.ts";
import { type RenderAnswer, RenderAttempts } from "../../edge/backends/render-attempts.ts";
import { ATTEMPT_SLACK_MILLISECONDS, type Sending, tryBackends } from "../../edge/backends/try-backends.ts";
import { BodyMemory, type BodyReservation } from "../../edge/body/body-memory.ts";
import { FairLimit } from "../../edge/body/fair-limit.ts";
import { longestRenderMilliseconds, makeUploadLimit } from "../../edge/body/read-body.ts";
import type { Clock } from "../../edge/clock.ts";
import type { Backend } from "../../edge/platform/platform.ts";
import { EDGE_INTEGER_SETTINGS } from "../../edge/settings.ts";
import { NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import type { BackendLoad } from "../../protocol/headers.ts";
import type { CapacityCause } from "../../rules/causes.ts";
import { PROBLEMS, renderQueueFull } from "../../rules/problem.ts";
import { longestAnswerMilliseconds, MAX_BODY_MILLISECONDS, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import { stubBackends } from "../edge/stub-backends.ts";
import { type AnswerFacts, type AttemptEnd, type AttemptFacts, type RequestFacts, Seen } from "./facts.ts";
import {
  FULL_MILLISECONDS,
  OF_A_FETCH,
  OF_A_FORWARDING,
  OF_A_LOSS,
  OF_A_PROBE,
  OF_A_REFUSED_BODY,
  OF_A_TAKEN_BODY,
  OF_AN_ATTEMPT,
} from "./invariants.ts";
import { Exchange, foreignAnswer } from "./network.ts";
import type { ProcessView, SimulatedAnswer, WorldView } from "./parts.ts";

const BODY_TIMEOUT_SECONDS = EDGE_INTEGER_SETTINGS.bodyTimeoutSeconds.default;
/** A body arrives at the edge in this many chunks. */
const CHUNKS = 3;

export class SimulatedEdge {
  readonly index: number;
  readonly memory: BodyMemory;
  readonly uploads: FairLimit;
  readonly renders: FairLimit;
  readonly choice: BackendChoice;
  readonly seen: Seen[];
  /** The backends that are listed now. */
  listed: ReadonlySet<number>;
  readonly requests: RequestFacts[] = [];
  /** Whether a body came or went since the invariants were last checked. */
  hasChanged = false;
  readonly #backends: readonly Backend[];
  readonly #lifetimeMilliseconds: number;
  readonly #world: WorldView;
  readonly #name: string;

  constructor(world: WorldView, index: number) {
    this.#world = world;
    this.index = index;
    this.#name = `edge ${index}`;
    const { settings } = world;
    const clock = this.#clock(() => true);
    this.memory = new BodyMemory(settings.largestBodyBytes, settings.edgeMemoryBytes, clock);
    this.uploads = makeUploadLimit(BODY_TIMEOUT_SECONDS, clock);
    this.#lifetimeMilliseconds = longestRenderMilliseconds(BODY_TIMEOUT_SECONDS, settings.backendTimeoutSeconds);
    this.renders = new FairLimit(EDGE_INTEGER_SETTINGS.maxOpenRenders.default, this.#lifetimeMilliseconds, clock);
    this.listed = new Set(world.backends.keys());
    this.#backends = stubBackends(...world.backends.keys());
    this.choice = new BackendChoice(this.#backends);
    this.#watchLosses();
    this.seen = Array.from({ length: settings.backends }, () => new Seen());
  }

  /** Tells the world of each backend that goes out of use. */
  #watchLosses(): void {
    const { choice } = this;
    const recordProbe = choice.recordProbe.bind(choice);
    choice.recordProbe = (probe, now, result) => {
      const wasOutOfUse = choice.isOutOfUse(probe.backend);
      recordProbe(probe, now, result);
      if (!wasOutOfUse && choice.isOutOfUse(probe.backend)) {
        const backend = this.#indexOf(probe.backend);
        this.#world.trace(() => `edge ${this.index}: backend ${backend} goes out of use`);
        this.#world.check(OF_A_LOSS, this.#name, (invariant) => invariant(this, backend, probe.beganAt, this.#world));
      }
    };
  }

  #indexOf(backend: Backend): number {
    return this.#backends.indexOf(backend);
  }

  /** From now on, these backends are listed. */
  keep(backends: readonly number[]): void {
    const listed = new Set(backends);
    // What is known of one that goes is forgotten. One that comes back beside others is trusted once it has answered.
    for (const [index] of this.seen.entries()) {
      if (listed.has(index) && this.listed.has(index)) continue;
      const seen = new Seen();
      seen.isTrusted = this.listed.size === 0;
      this.seen[index] = seen;
    }
    this.listed = listed;
    this.choice.keep(this.#backends.filter((_, index) => listed.has(index)));
  }

  /** A request arrives. */
  serve(request: RequestFacts): void {
    const { planned } = request;
    const { time } = this.#world;
    this.requests.push(request);
    const disconnected = new AbortController();
    const open = new Set<Exchange>();
    void this.#answer(request, disconnected.signal, open);
    if (planned.leavesAfterMilliseconds === null) return;
    time.after(planned.leavesAfterMilliseconds, () => {
      if (request.answers.length > 0) return;
      this.#world.trace(() => `request ${planned.id}: its client leaves`);
      request.isGone = true;
      for (const attempt of request.attempts) this.#end(attempt, "gone");
      if (!planned.isLeavingNoticed) this.#rememberOpen(request);
      else {
        this.#hold(request, 0);
        disconnected.abort();
      }
      // The runtime drops what the request has open in any case.
      for (const exchange of open) exchange.cancel();
    });
  }

  async #answer(request: RequestFacts, disconnected: AbortSignal, open: Set<Exchange>): Promise<void> {
    const { settings, time } = this.#world;
    const { planned } = request;
    const upload = this.uploads.acquire(planned.caller);
    if (upload === null) return this.#refuse(request, "uploads");
    const render = this.renders.acquire(planned.caller);
    if (render === null) {
      upload.release();
      return this.#refuse(request, "open_requests");
    }
    // As at the real edge, the memory of a body that is dropped is detached: whoever still reads it finds it empty.
    let bytes = new ArrayBuffer(planned.bytes);
    let isOwnEnd = false;
    const free = () => {
      bytes = bytes.transfer(0);
      request.isBodyFree = true;
      this.#hold(request, 0);
      if (isOwnEnd || request.isGone || request.forwardedAt === null) return;
      request.isBodyTaken = true;
      this.#world.check(OF_A_TAKEN_BODY, this.#name, (invariant) => invariant(request));
    };
    const held = { finish: () => new Uint8Array(bytes), free };
    const reservation = this.memory.reserve(planned.caller, this.#lifetimeMilliseconds, held);
    const release = () => {
      render.release();
      upload.release();
      reservation.release();
    };
    disconnected.addEventListener("abort", release);
    try {
      const hasMemory = await resumeUnlessGone(request, this.#readBody(request, reservation));
      upload.release();
      if (!hasMemory) return this.#refuse(request, "edge_memory");
      request.forwardedAt = time.now;
      request.deadline = time.now + settings.backendTimeoutSeconds * 1000;
      const end = await resumeUnlessGone(request, this.#forward(request, reservation, disconnected, open));
      isOwnEnd = true;
      reservation.release();
      this.#say(request, end);
    } finally {
      this.#hold(request, 0);
      release();
    }
  }

  /** @returns whether there was memory for all of it. */
  async #readBody(request: RequestFacts, reservation: BodyReservation): Promise<boolean> {
    const { planned } = request;
    const clock = this.#clock(() => !request.isGone);
    for (let chunk = 1; chunk <= CHUNKS; chunk++) {
      await clock.wait(planned.uploadMilliseconds / CHUNKS);
      const bytes = Math.ceil((planned.bytes * chunk) / CHUNKS);
      request.isWithoutMemory = !(await resumeUnlessGone(request, reservation.growTo(bytes)));
      if (request.isWithoutMemory) {
        this.#world.check(OF_A_REFUSED_BODY, this.#name, (invariant) => invariant(this, request, bytes, this.#world));
        return false;
      }
      this.#hold(request, bytes);
    }
    return true;
  }

  #hold(request: RequestFacts, bytes: number): void {
    request.heldBytes = bytes;
    this.hasChanged = true;
  }

  #forward(request: RequestFacts, body: BodyReservation, clientSignal: AbortSignal, open: Set<Exchange>) {
    const { random, settings } = this.#world;
    const { deadline } = request;
    const clock = this.#clock(() => {
      if (request.answers.length > 0) request.lateTimers++;
      return !request.isGone;
    });
    const forwarding = tryBackends<SimulatedAnswer>({
      choice: this.choice,
      clock,
      attempts: new RenderAttempts(this.choice, deadline, request.planned.bytes, random.next),
      longestAnswerMilliseconds: longestAnswerMilliseconds(settings),
      body,
      whenClientLeaves: (leave) => {
        clientSignal.addEventListener("abort", leave);
        return () => clientSignal.removeEventListener("abort", leave);
      },
      send: (backend, sending) => this.#send(request, this.#indexOf(backend), sending, open),
      sendProbe: (backend, timeoutMilliseconds) => this.#probe(request, this.#indexOf(backend), timeoutMilliseconds),
      askLoad: (backend, timeoutMilliseconds) => this.#askLoad(request, this.#indexOf(backend), timeoutMilliseconds),
      discard: () => {
        for (const attempt of request.attempts) attempt.isDiscarded = true;
      },
      report: () => {},
      // It may be cut off as the request is, so that is how it is here.
      inBackground: () => {},
    });
    this.#world.check(OF_A_FORWARDING, this.#name, (invariant) => invariant(this, request, this.#world));
    return forwarding;
  }

  async #send(request: RequestFacts, backend: number, sending: Sending, open: Set<Exchange>): Promise<SimulatedAnswer> {
    const { time } = this.#world;
    const seen = this.seenOf(backend);
    const attempt: AttemptFacts = {
      seen,
      edge: this.index,
      backend,
      beganAt: time.now,
      remainingMilliseconds: request.deadline - time.now,
      timeBudgetMilliseconds: sending.timeBudgetMilliseconds,
      isBegun: false,
      isSent: false,
      sentAt: Number.NaN,
      end: null,
      endedAt: Number.NaN,
      retryAfterSeconds: Number.POSITIVE_INFINITY,
      isDiscarded: false,
    };
    this.#world.trace(() => `request ${request.planned.id}: edge ${this.index} asks backend ${backend}`);
    this.#world.check(OF_AN_ATTEMPT, this.#name, (invariant) => invariant(this, request, backend, this.#world));
    request.attempts.push(attempt);
    seen.open++;
    seen.begunSince++;
    const exchange = new Exchange(this.#world, this.#world.linkAt(this.index, backend), request, attempt, sending);
    open.add(exchange);
    const endFetch = this.#beginFetch(request);
    try {
      const answer = await exchange.answer;
      this.#end(attempt, endOf(answer));
      this.#hear(seen, attempt.beganAt, answer, false);
      if (attempt.end === "full") attempt.retryAfterSeconds = Number(answer.headers.get("Retry-After"));
      return answer;
    } catch (error) {
      this.#end(attempt, "unanswered");
      throw error;
    } finally {
      endFetch();
      open.delete(exchange);
    }
  }

  #beginFetch(request: RequestFacts): () => void {
    request.fetches++;
    request.waitingFetches++;
    this.#world.check(OF_A_FETCH, this.#name, (invariant) => invariant(request, this.#world));
    return () => request.waitingFetches--;
  }

  seenOf(backend: number): Seen {
    const seen = this.seen[backend];
    if (seen === undefined) throw new RangeError(`there is no backend ${backend}`);
    return seen;
  }

  #end(attempt: AttemptFacts, end: AttemptEnd): void {
    if (attempt.end !== null) return;
    const { now } = this.#world.time;
    attempt.end = end;
    attempt.endedAt = now;
    attempt.seen.open--;
    if (end === "unusable" || end === "unanswered") attempt.seen.isTrusted = false;
  }

  /** An answer of the backend itself, to a render or a probe. */
  #hear(seen: Seen, beganAt: number, answer: SimulatedAnswer, isProbe: boolean): void {
    const { load } = answer;
    const end = endOf(answer);
    // One that is about to stop works, whatever it says of the request.
    if (load === null || (!load.isDraining && (end === "unusable" || end === "refused"))) return;
    const isFull = end === "full" && !load.isDraining;
    seen.recordAnswer(beganAt, this.#world.time.now, { isFull, isProbe, load });
  }

  /** What a client without notice has left counts as open until it expires. */
  #rememberOpen({ attempts, deadline }: RequestFacts): void {
    const { time } = this.#world;
    const last = attempts.at(-1);
    if (last?.end !== "gone" || last.endedAt !== time.now) return;
    const { seen } = last;
    seen.left++;
    const longest = deadline + MAX_UPLOAD_MILLISECONDS + MAX_BODY_MILLISECONDS + ATTEMPT_SLACK_MILLISECONDS;
    time.after(longest - time.now, () => seen.left--);
  }

  async #probe(request: RequestFacts, backend: number, timeoutMilliseconds: number): Promise<SimulatedAnswer> {
    const { time } = this.#world;
    const seen = this.seenOf(backend);
    const beganAt = time.now;
    this.#world.check(OF_A_PROBE, this.#name, (invariant) => invariant(this, backend, this.#world));
    seen.probedAt.push(beganAt);
    request.waitingProbes++;
    let hasFailed = true;
    try {
      const answer = await this.#get<SimulatedAnswer>(request, backend, timeoutMilliseconds, (process, respond) => {
        if (process === null) respond(foreignAnswer(502));
        else process.probe(respond);
      });
      this.#hear(seen, beganAt, answer, true);
      hasFailed = endOf(answer) === "unusable";
      return answer;
    } finally {
      request.waitingProbes--;
      if (hasFailed) seen.recordFailedProbe(beganAt, time.now);
    }
  }

  async #askLoad(request: RequestFacts, backend: number, timeoutMilliseconds: number): Promise<BackendLoad> {
    const load = await this.#get<BackendLoad>(request, backend, timeoutMilliseconds, (process, answer) => {
      if (process !== null) answer(process.load);
    });
    this.seenOf(backend).recordLoad(this.#world.time.now, load);
    return load;
  }

  /**
   * A request without a body to speak of.
   *
   * @param ask asks the process, or a proxy in its place, which is null
   */
  #get<Answer>(
    request: RequestFacts,
    backend: number,
    timeoutMilliseconds: number,
    ask: (process: ProcessView | null, answer: (answer: Answer) => void) => void,
  ): Promise<Answer> {
    const world = this.#world;
    const link = world.linkAt(this.index, backend);
    const clock = this.#clock(() => !request.isGone);
    const endFetch = this.#beginFetch(request);
    const answered = new Promise<Answer>((resolve, reject) => {
      clock.after(timeoutMilliseconds, () => reject(new Error("no answer in time")));
      const answer = (settle: () => void) => {
        link.carry(() => {
          if (!request.isGone) settle();
        });
      };
      link.carry(() => {
        const { process, offUntil } = world.backendAt(backend);
        const { now } = world.time;
        if (now < offUntil) return;
        const pass = (own: Answer) => answer(() => resolve(own));
        if (now < link.until["proxy error"]) return ask(null, pass);
        if (process === null || now < link.until.refuse) return answer(() => reject(new Error("connection refused")));
        process.run(() => ask(process, pass));
      });
    });
    return answered.finally(endFetch);
  }

  #refuse(request: RequestFacts, cause: CapacityCause): void {
    this.#say(request, { kind: "refused", problem: renderQueueFull(cause, NO_MEMORY_RETRY_SECONDS) });
  }

  #say(request: RequestFacts, end: RenderAnswer<SimulatedAnswer>): void {
    const { now } = this.#world.time;
    const answer = answerTo(end, now);
    const wereBusy = [...this.seen.entries()].filter(
      ([, { fullAt, open, reported }]) => now - fullAt < FULL_MILLISECONDS || open + reported > 0,
    );
    request.wereBusy = new Set(wereBusy.map(([index]) => index));
    this.#world.trace(() => `request ${request.planned.id}: answered ${answer.status}`);
    request.answers.push(answer);
  }

  /** Its timers fire late, as those of a busy isolate do. */
  #clock(isContinued: () => boolean): Clock {
    const { time, random, settings } = this.#world;
    const after = (milliseconds: number, callback: () => void) => {
      const delay = random.next() * settings.maxTimerDelayMilliseconds;
      return time.after(milliseconds + delay, () => {
        if (isContinued()) callback();
      });
    };
    const wait = (milliseconds: number) => new Promise<void>((resolve) => after(milliseconds, resolve));
    return { now: () => time.now, after, wait };
  }
}

function answerTo(end: RenderAnswer<SimulatedAnswer>, at: number): AnswerFacts {
  if (end.kind === "answered") {
    const { status, isRendered } = end.answer;
    return { at, status, retryAfterSeconds: null, isRendered };
  }
  const { code, context } = end.problem;
  const retryAfterSeconds = "retry_after" in context ? context.retry_after : null;
  return { at, status: PROBLEMS[code].status, retryAfterSeconds, isRendered: false };
}

/** What an answer truly means, whatever the edge takes it for. */
function endOf({ status, load, isRendered }: SimulatedAnswer): AttemptEnd {
  if (isRendered) return "answered";
  if (load === null) return "unusable";
  if (status === PROBLEMS.invalid_request.status) return "refused";
  if (status === PROBLEMS.render_queue_full.status) return "full";
  return load.isDraining ? "draining" : "unusable";
}

/** A promise that never resolves once the request's client has gone. */
function resumeUnlessGone<Value>(request: RequestFacts, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    promise.then(
      (value) => request.isGone || resolve(value),
      (error) => request.isGone || reject(error),
    );
  });
}
