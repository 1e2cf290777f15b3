/** Tries a render on one backend after another, and probes those that may have failed. Clock and I/O are passed in. */
import type { BackendLoad } from "../../protocol/headers.ts";
import { longestTransitMilliseconds, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { BodyReservation } from "../body/body-memory.ts";
import type { Clock } from "../clock.ts";
import type { Backend, TakenPart } from "../platform/platform.ts";
import { type FailedAttempt, failedAttempt, type ResponseHead, readAnswer, readProbeAnswer } from "./backend-answer.ts";
import {
  type Attempt,
  type BackendChoice,
  hasFreeSlot,
  PROBE_TIMEOUT_MILLISECONDS,
  type Probe,
} from "./backend-choice.ts";
import type { RenderAnswer, RenderAttempts } from "./render-attempts.ts";
import { SideRequests } from "./side-requests.ts";

/** How long an attempt is remembered after its deadline, to allow for delays in workerd. */
const ATTEMPT_SLACK_MILLISECONDS = 1000;
const ASK_TIMEOUT_MILLISECONDS = 1000;
const LOOK_INTERVAL_MILLISECONDS = 1000;

export interface Sending {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How long the edge waits for the answer of this backend, once it has the body. */
  readonly timeBudgetMilliseconds: number;
  readonly signal: AbortSignal;
  /** To be called when a connection to the backend has certainly taken this part of the body. */
  reportTaken(part: TakenPart): void;
}

export interface Probing {
  readonly choice: BackendChoice;
  readonly clock: Clock;
  readonly sideRequests: SideRequests;
  /** Rejects when the answer does not come in time. */
  sendProbe(backend: Backend, timeoutMilliseconds: number): Promise<ResponseHead>;
  /** Reports to the operator that a backend was full, or did not answer. */
  report(backend: Backend, result: FailedAttempt): void;
}

export interface Forwarding<Answer extends ResponseHead> extends Probing {
  readonly attempts: RenderAttempts;
  readonly longestAnswerMilliseconds: number;
  readonly body: Pick<BodyReservation, "bytes" | "withdraw" | "offer">;
  /** Calls back when the client disconnects. @returns a function that cancels the call. */
  whenClientLeaves(callback: () => void): () => void;
  /** Rejects when no answer begins. */
  send(backend: Backend, sending: Sending): Promise<Answer>;
  /** Null if the backend does not say how busy it is. Rejects when no answer comes in time. */
  askLoad(backend: Backend, timeoutMilliseconds: number): Promise<BackendLoad | null>;
  discard(answer: Answer): void;
  inBackground(work: Promise<unknown>): void;
}

/** When the client disconnects, the attempt is aborted, which ends the render. */
export async function tryBackends<Answer extends ResponseHead>(
  ways: Omit<Forwarding<Answer>, "sideRequests">,
): Promise<RenderAnswer<Answer>> {
  const forwarding = { ...ways, sideRequests: new SideRequests() };
  const { attempts, clock, body } = forwarding;
  // Bounded by the number of backends and of attempts that `RenderAttempts` allows.
  for (;;) {
    const step = attempts.next(clock.now());
    if (step.kind === "refused") return step;
    const bytes = body.bytes;
    // Another request has taken the memory.
    if (bytes === null) return attempts.refuse("dropped");
    switch (step.kind) {
      case "wait":
        await clock.wait(step.milliseconds);
        continue;
      case "ask":
        await askLoads(forwarding, step.backends);
        continue;
      case "try":
        break;
    }
    attempts.begin(step.backend);
    const end = await new OpenAttempt(forwarding, step.backend, bytes).run();
    if (end.kind === "answered") return end;
    attempts.fail(step.backend, end);
  }
}

/** Asks a few at a time, until one has a free slot. If probes take all places, the render does not wait for them. */
async function askLoads(
  { choice, clock, askLoad, sideRequests }: Forwarding<ResponseHead>,
  backends: readonly Backend[],
): Promise<void> {
  const free = Promise.withResolvers<void>();
  const left = [...backends];
  let isFound = false;
  const askOneAfterAnother = async () => {
    for (let backend = left.shift(); backend !== undefined && !isFound; backend = left.shift()) {
      const asked = backend;
      const load = await sideRequests
        .send("question", () => askLoad(asked, ASK_TIMEOUT_MILLISECONDS))
        .catch(() => null);
      if (load === null) continue;
      choice.recordLoad(asked, clock.now(), load);
      if (!hasFreeSlot(load) || load.isDraining) continue;
      isFound = true;
      free.resolve();
    }
  };
  const lanes = Array.from({ length: sideRequests.questionsAllowed }, askOneAfterAnother);
  await Promise.race([free.promise, Promise.all(lanes)]);
}

/** How an attempt has failed, by what a connection has taken of the body. */
const FAILURES = { nothing: "unreachable", some: "interrupted", all: "lost" } as const;

/**
 * One attempt at one backend, which is abandoned when it is hopeless or its time is up. The time begins anew when the
 * backend has all of the body.
 */
class OpenAttempt<Answer extends ResponseHead> {
  readonly #forwarding: Forwarding<Answer>;
  readonly #sending: Sending;
  readonly #attempt: Attempt;
  /** Of the body, whose own length reads as 0 once another request has taken its memory. */
  readonly #bodyBytes: number;
  readonly #abort = new AbortController();
  #taken: keyof typeof FAILURES = "nothing";
  #sentAt = Number.POSITIVE_INFINITY;
  #isOver = false;
  #hasClientLeft = false;
  #cancelDeadline: () => void;
  #cancelLook: () => void;

  constructor(forwarding: Forwarding<Answer>, backend: Backend, bytes: Uint8Array<ArrayBuffer>) {
    const { choice, clock, attempts, longestAnswerMilliseconds } = forwarding;
    const beganAt = clock.now();
    const budget = Math.min(attempts.deadline - beganAt, longestAnswerMilliseconds);
    const timeBudgetMilliseconds = Math.max(0, budget);
    const deadline = beganAt + timeBudgetMilliseconds;
    const reportTaken = (part: TakenPart) => this.#recordTaken(part);
    this.#forwarding = forwarding;
    this.#bodyBytes = bytes.length;
    this.#sending = { bytes, timeBudgetMilliseconds, signal: this.#abort.signal, reportTaken };
    this.#attempt = choice.begin(backend, beganAt, deadline + ATTEMPT_SLACK_MILLISECONDS);
    this.#cancelDeadline = this.#abortAt(deadline);
    this.#cancelLook = this.#lookLater();
  }

  async run(): Promise<Exclude<RenderAnswer<Answer>, { kind: "refused" }> | FailedAttempt> {
    const { choice, clock, whenClientLeaves, send, discard } = this.#forwarding;
    // When the client disconnects, workerd never resumes the code after the next `await`.
    const stopWatchingClient = whenClientLeaves(() => {
      this.#hasClientLeft = true;
      choice.abandon(this.#attempt);
      this.#abort.abort();
    });
    try {
      const sent = send(this.#attempt.backend, this.#sending);
      // Not before the render itself, which must not wait for a probe.
      this.#probe(null);
      const answer = await sent;
      const result = readAnswer(answer);
      if (result.kind === "answered") {
        this.#keepBody();
        choice.end(this.#attempt, clock.now(), result);
        return { kind: "answered", answer };
      }
      this.#fail(result);
      discard(answer);
      return result;
    } catch (error) {
      const result = failedAttempt(FAILURES[this.#taken], error);
      // In Node the code goes on. It is no failure of the backend, and its body is gone, so nothing else is tried.
      return this.#hasClientLeft ? result : this.#fail(result);
    } finally {
      this.#cancelDeadline();
      this.#cancelLook();
      stopWatchingClient();
    }
  }

  #fail(result: FailedAttempt): FailedAttempt {
    const { choice, clock, report } = this.#forwarding;
    const { backend } = this.#attempt;
    this.#keepBody();
    choice.end(this.#attempt, clock.now(), result);
    this.#probe(backend);
    report(backend, result);
    return result;
  }

  #probe(own: Backend | null): void {
    const probes = probeDueBackends(this.#forwarding, own);
    if (probes !== null) this.#forwarding.inBackground(probes);
  }

  /** The attempt is over: the body is for the next backend, or is released at once. Nobody may take it any more. */
  #keepBody(): void {
    this.#isOver = true;
    this.#forwarding.body.withdraw();
  }

  #giveUp(): void {
    this.#keepBody();
    this.#abort.abort();
  }

  #recordTaken(part: TakenPart): void {
    // If the backend answered early, the rest of the body may arrive there while the next backend already gets it.
    if (this.#isOver) return;
    const { clock, attempts, body } = this.#forwarding;
    const { beganAt } = this.#attempt;
    const { timeBudgetMilliseconds } = this.#sending;
    this.#taken = part;
    if (part === "some") {
      this.#waitUntil(beganAt + MAX_UPLOAD_MILLISECONDS);
      return;
    }
    this.#sentAt = clock.now();
    // The time that the upload took is not the backend's.
    attempts.extend(this.#sentAt - beganAt);
    this.#waitUntil(this.#sentAt + timeBudgetMilliseconds + longestTransitMilliseconds(this.#bodyBytes));
    body.offer();
  }

  #waitUntil(deadline: number): void {
    this.#cancelDeadline();
    this.#cancelDeadline = this.#abortAt(deadline);
    this.#attempt.expiresAt = deadline + ATTEMPT_SLACK_MILLISECONDS;
  }

  #abortAt(time: number): () => void {
    const { clock } = this.#forwarding;
    return clock.after(Math.max(0, time - clock.now()), () => this.#giveUp());
  }

  #lookLater(): () => void {
    return this.#forwarding.clock.after(LOOK_INTERVAL_MILLISECONDS, () => this.#look());
  }

  #look(): void {
    const { attempts, clock, body } = this.#forwarding;
    const { backend, beganAt } = this.#attempt;
    const begun = { backend, beganAt, sentAt: this.#sentAt, bodyBytes: this.#bodyBytes };
    // Without its body, the render cannot be sent to another backend.
    if (body.bytes !== null && attempts.isHopeless(begun, clock.now())) {
      this.#giveUp();
      return;
    }
    this.#probe(backend);
    this.#cancelLook = this.#lookLater();
  }
}

/**
 * Sends probes that are due, each a small render: a host without power sends nothing, not even a reset, and one that
 * answers `/health` may never end a render. As each ends, the next one goes out, as long as `SideRequests` allows.
 *
 * @param own the backend that has the render, which waits to hear of it
 * @returns null if none is due: a task in the background costs a render something even if it does nothing
 */
export function probeDueBackends(probing: Probing, own: Backend | null): Promise<unknown> | null {
  const { choice, clock, sideRequests } = probing;
  const take = (count: number, of: Backend | null) =>
    choice.takeDue(clock.now(), count, of).map((probe) => sendProbe(probing, probe));
  const ofOwn = own === null ? [] : take(sideRequests.probesAllowed(true), own);
  const ofOthers = take(sideRequests.probesAllowed(false), null);
  const probes = [...ofOwn, ...ofOthers].map((sent) => sent.then(() => probeDueBackends(probing, null)));
  return probes.length > 0 ? Promise.all(probes) : null;
}

/** The operator hears only of a probe that takes a backend out of use. */
async function sendProbe(
  { choice, clock, report, sendProbe: send, sideRequests }: Probing,
  probe: Probe,
): Promise<void> {
  const { backend } = probe;
  const result = await sideRequests
    .send("probe", () => send(backend, PROBE_TIMEOUT_MILLISECONDS))
    .then(readProbeAnswer)
    .catch((error: unknown) => failedAttempt("unreachable", error));
  const wasOutOfUse = choice.isOutOfUse(backend);
  choice.recordProbe(probe, clock.now(), result);
  const isNews = !wasOutOfUse && choice.isOutOfUse(backend);
  if (isNews && result.kind === "failed") report(backend, { ...result, reason: `probe: ${result.reason}` });
}
