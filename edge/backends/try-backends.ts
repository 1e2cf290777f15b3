/** Tries a render on one backend after another, and probes those that may have failed. Clock and I/O are passed in. */
import type { BackendLoad } from "../../protocol/headers.ts";
import { longestTransitMilliseconds, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { HeldBody, TakenPart } from "../body/held-body.ts";
import type { WallClock } from "../clock.ts";
import { type FailedAttempt, failAttempt, type ResponseHead, readAnswer, readProbeAnswer } from "./backend-answer.ts";
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
export const ATTEMPT_SLACK_MILLISECONDS = 1000;
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

export interface Probing<Target extends NonNullable<unknown>> {
  readonly choice: BackendChoice<Target>;
  readonly clock: WallClock;
  readonly sideRequests: SideRequests;
  /** Rejects when the answer does not come in time. */
  sendProbe(backend: Target, timeoutMilliseconds: number): Promise<ResponseHead>;
  /** Reports to the operator that a backend was full, or did not answer. */
  report(backend: Target, result: FailedAttempt): void;
}

export interface Forwarding<Target extends NonNullable<unknown>, Answer extends ResponseHead> extends Probing<Target> {
  readonly attempts: RenderAttempts<Target>;
  readonly longestAnswerMilliseconds: number;
  readonly body: Pick<HeldBody, "bytes" | "withdraw" | "offer">;
  /** Aborted when the client disconnects. */
  readonly clientSignal: AbortSignal;
  /** Rejects when no answer begins. */
  send(backend: Target, sending: Sending): Promise<Answer>;
  /** Null if the backend does not say how busy it is. Rejects when no answer comes in time. */
  askLoad(backend: Target, timeoutMilliseconds: number): Promise<BackendLoad | null>;
  discard(answer: Answer): Promise<void>;
  inBackground(work: Promise<void>): void;
}

/** When the client disconnects, the attempt is aborted, which ends the render. */
export async function tryBackends<Target extends NonNullable<unknown>, Answer extends ResponseHead>(
  ways: Omit<Forwarding<Target, Answer>, "sideRequests">,
): Promise<RenderAnswer<Answer>> {
  const forwarding = { ...ways, sideRequests: new SideRequests() };
  const { attempts, clock, body } = forwarding;
  // Bounded by the number of backends and of attempts that `RenderAttempts` allows.
  for (;;) {
    const step = attempts.next(clock.now());
    switch (step.kind) {
      case "wait":
        await clock.wait(step.milliseconds);
        continue;
      case "ask":
        await askLoads(forwarding, step.backends);
        continue;
      case "refused":
        return step;
      case "try":
        break;
    }
    body.withdraw();
    const bytes = body.bytes;
    // Another request has taken the memory.
    if (bytes === null) return attempts.refuse("dropped");
    attempts.begin(step.backend);
    const end = await tryBackend(forwarding, step.backend, bytes);
    if (end.kind === "answered") return end;
    attempts.fail(step.backend, end);
  }
}

/** Asks a few at a time, until one has a free slot. If probes take all places, the render does not wait for them. */
async function askLoads<Target extends NonNullable<unknown>>(
  { choice, clock, askLoad, sideRequests }: Forwarding<Target, ResponseHead>,
  backends: readonly Target[],
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

async function tryBackend<Target extends NonNullable<unknown>, Answer extends ResponseHead>(
  forwarding: Forwarding<Target, Answer>,
  backend: Target,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Exclude<RenderAnswer<Answer>, { kind: "refused" }> | FailedAttempt> {
  const { choice, clock, clientSignal, attempts } = forwarding;
  const beganAt = clock.now();
  const budget = Math.min(attempts.deadline - beganAt, forwarding.longestAnswerMilliseconds);
  const timeBudgetMilliseconds = Math.max(0, budget);
  const attempt = choice.begin(backend, beganAt, beganAt + timeBudgetMilliseconds + ATTEMPT_SLACK_MILLISECONDS);
  const abort = new AbortController();
  // When the client disconnects, workerd never resumes the code after the next `await`.
  const leave = () => {
    choice.abandon(attempt);
    abort.abort();
  };
  clientSignal.addEventListener("abort", leave);
  const upload = followUpload(forwarding, attempt, { bytes, timeBudgetMilliseconds, abort: () => abort.abort() });
  const fail = (result: FailedAttempt) => {
    choice.end(attempt, clock.now(), result);
    forwarding.inBackground(probeDueBackends(forwarding, backend));
    forwarding.report(backend, result);
    return result;
  };
  try {
    const { signal } = abort;
    const { reportTaken } = upload;
    const sent = forwarding.send(backend, { bytes, timeBudgetMilliseconds, signal, reportTaken });
    // Not before the render itself, which must not wait for a probe.
    forwarding.inBackground(probeDueBackends(forwarding, null));
    const answer = await sent;
    const result = readAnswer(answer);
    if (result.kind === "answered") {
      choice.end(attempt, clock.now(), result);
      return { kind: "answered", answer };
    }
    fail(result);
    await forwarding.discard(answer);
    return result;
  } catch (error) {
    return fail(failAttempt(upload.failure(), error));
  } finally {
    upload.stop();
    clientSignal.removeEventListener("abort", leave);
  }
}

/** Abandons a backend when it is hopeless or its time is up, which begins anew when it has all of the body. */
function followUpload<Target extends NonNullable<unknown>>(
  forwarding: Forwarding<Target, ResponseHead>,
  attempt: Attempt<Target>,
  { bytes, timeBudgetMilliseconds, abort }: Pick<Sending, "bytes" | "timeBudgetMilliseconds"> & { abort(): void },
) {
  const { clock, attempts, body } = forwarding;
  const { backend, beganAt } = attempt;
  let sentAt = Number.POSITIVE_INFINITY;
  let isSomeTaken = false;
  let isOver = false;
  const abortAt = (time: number) => clock.after(Math.max(0, time - clock.now()), abort);
  let cancelDeadline = abortAt(beganAt + timeBudgetMilliseconds);
  const look = () => {
    if (attempts.isHopeless({ backend, beganAt, sentAt, bodyBytes: bytes.length }, clock.now())) return abort();
    forwarding.inBackground(probeDueBackends(forwarding, backend));
    cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  };
  let cancelLook = clock.after(LOOK_INTERVAL_MILLISECONDS, look);
  const waitUntil = (deadline: number) => {
    cancelDeadline();
    cancelDeadline = abortAt(deadline);
    attempt.expiresAt = deadline + ATTEMPT_SLACK_MILLISECONDS;
  };
  const reportTaken = (part: TakenPart) => {
    // If the backend answered early, the rest of the body may arrive there while the next backend already gets it.
    if (isOver) return;
    isSomeTaken = true;
    if (part === "some") return waitUntil(beganAt + MAX_UPLOAD_MILLISECONDS);
    sentAt = clock.now();
    // The time that the upload took is not the backend's.
    attempts.extend(sentAt - beganAt);
    waitUntil(sentAt + timeBudgetMilliseconds + longestTransitMilliseconds(bytes.length));
    body.offer();
  };
  /** How the attempt has failed, by what a connection has taken of the body. */
  const failure = () => {
    if (sentAt < Number.POSITIVE_INFINITY) return "lost";
    return isSomeTaken ? "interrupted" : "unreachable";
  };
  const stop = () => {
    isOver = true;
    cancelDeadline();
    cancelLook();
  };
  return { reportTaken, failure, stop };
}

/**
 * Sends probes that are due, each a small render: a host without power sends nothing, not even a reset, and one that
 * answers `/health` may never end a render. As each ends, the next one goes out, as long as `SideRequests` allows.
 *
 * @param own the backend that has the render, which waits to hear of it
 */
export async function probeDueBackends<Target extends NonNullable<unknown>>(
  probing: Probing<Target>,
  own: Target | null,
): Promise<void> {
  const { choice, clock, sideRequests } = probing;
  const take = (count: number, of: Target | null) =>
    choice.takeDue(clock.now(), count, of).map((probe) => sendProbe(probing, probe));
  const ofOwn = own === null ? [] : take(sideRequests.probesAllowed(true), own);
  const ofOthers = take(sideRequests.probesAllowed(false), null);
  const probes = [...ofOwn, ...ofOthers].map((sent) => sent.then(() => probeDueBackends(probing, null)));
  await Promise.all(probes);
}

/** The operator hears only of a probe that takes a backend out of use. */
async function sendProbe<Target extends NonNullable<unknown>>(
  { choice, clock, report, sendProbe: send, sideRequests }: Probing<Target>,
  probe: Probe<Target>,
): Promise<void> {
  const { backend } = probe;
  const result = await sideRequests
    .send("probe", () => send(backend, PROBE_TIMEOUT_MILLISECONDS))
    .then(readProbeAnswer)
    .catch((error: unknown) => failAttempt("unreachable", error));
  const wasOutOfUse = choice.isOutOfUse(backend);
  choice.recordProbe(probe, clock.now(), result);
  const isNews = !wasOutOfUse && choice.isOutOfUse(backend);
  if (isNews && result.kind === "failed") report(backend, { ...result, reason: `probe: ${result.reason}` });
}
