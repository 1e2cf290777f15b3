/**
 * Tries a render on the backends, one after another, until one of them answers. Every decision about an attempt is made
 * here or in the files that this one imports. Whatever talks to a backend is passed in, and so is the clock, so that
 * the simulation can run this code.
 */
import type { BackendLoad } from "../../protocol/backend-load.ts";
import { longestTransitMilliseconds, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import type { HeldBody } from "../body/body-memory.ts";
import { type BackendAnswer, causeOf, meaningOf, resultOf } from "./backend-answer.ts";
import { type Attempt, type AttemptResult, hasFreeSlot } from "./backend-choice.ts";
import type { FailedAttempt, NextStep, RenderAttempts } from "./render-attempts.ts";
import type { TakenPart } from "./send-body.ts";
import { type Probing, probeDueBackends, watchBackend } from "./watch-backend.ts";

/** How long an attempt is remembered after its deadline, to allow for delays in workerd. */
export const ATTEMPT_SLACK_MILLISECONDS = 1000;
/** How long a backend has to say how busy it is. */
const ASK_TIMEOUT_MILLISECONDS = 1000;

export interface Sending {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How long the edge waits for the answer of this backend, once it has the body. */
  readonly timeBudgetMilliseconds: number;
  /** Aborted when the attempt is given up. */
  readonly signal: AbortSignal;
  /** To be called when a connection to the backend has certainly taken this part of the body. */
  taken(part: TakenPart): void;
}

export interface Forwarded<Backend extends NonNullable<unknown>, Answer> extends Probing<Backend> {
  readonly attempts: RenderAttempts<Backend>;
  /** How long a backend may take by its own deadlines. */
  readonly longestAnswerMilliseconds: number;
  readonly body: Pick<HeldBody, "bytes" | "withdraw" | "offer">;
  /** Aborted when the client disconnects. */
  readonly clientSignal: AbortSignal;
  /** Sends the render. It rejects when no answer begins. */
  send(backend: Backend, sending: Sending): Promise<BackendAnswer<Answer>>;
  /** Asks a backend how busy it is: null if it does not say so. It rejects when no answer comes in time. */
  askLoad(backend: Backend, timeoutMilliseconds: number): Promise<BackendLoad | null>;
  /** Drops an answer that the client does not get. */
  discard(answer: Answer): Promise<void>;
  /** Lets work go on that the answer does not wait for. */
  inBackground(work: Promise<void>): void;
}

export type ForwardingEnd<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | Extract<NextStep<unknown>, { kind: "busy" | "failed" }>;

type AttemptEnd<Answer> = Extract<ForwardingEnd<Answer>, { kind: "answered" }> | FailedAttempt;

/** When the client disconnects, the attempt is aborted, which ends the render. */
export async function tryBackends<Backend extends NonNullable<unknown>, Answer>(
  forwarded: Forwarded<Backend, Answer>,
): Promise<ForwardingEnd<Answer>> {
  const { attempts, clock, body } = forwarded;
  forwarded.inBackground(probeDueBackends(forwarded));
  // Bounded by the number of backends and of attempts that `RenderAttempts` allows.
  for (;;) {
    const step = attempts.next(clock.now());
    switch (step.kind) {
      case "wait":
        await clock.wait(step.milliseconds);
        continue;
      case "ask":
        await askLoads(forwarded, step.backends);
        continue;
      case "busy":
      case "failed":
        return step;
      case "try":
        break;
    }
    body.withdraw();
    const bytes = body.bytes;
    // Another request has taken the memory.
    if (bytes === null) return attempts.giveUp(false);
    attempts.begin(step.backend);
    const end = await tryBackend(forwarded, step.backend, bytes);
    if (end.kind === "answered") return end;
    attempts.fail(step.backend, end);
  }
}

/** Asks backends how busy they are, until one has a free slot or none is left. */
async function askLoads<Backend extends NonNullable<unknown>>(
  { choice, clock, askLoad }: Pick<Forwarded<Backend, unknown>, "choice" | "clock" | "askLoad">,
  backends: readonly Backend[],
): Promise<void> {
  const free = Promise.withResolvers<void>();
  const asked = backends.map(async (backend) => {
    const load = await askLoad(backend, ASK_TIMEOUT_MILLISECONDS).catch(() => null);
    if (load === null) return;
    choice.told(backend, clock.now(), load);
    if (hasFreeSlot(load) && !load.isDraining) free.resolve();
  });
  await Promise.race([free.promise, Promise.all(asked)]);
}

async function tryBackend<Backend extends NonNullable<unknown>, Answer>(
  forwarded: Forwarded<Backend, Answer>,
  backend: Backend,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<AttemptEnd<Answer>> {
  const { choice, clock, clientSignal, attempts } = forwarded;
  const beganAt = clock.now();
  const budget = Math.min(attempts.deadline - beganAt, forwarded.longestAnswerMilliseconds);
  const timeBudgetMilliseconds = Math.max(0, budget);
  const attempt = choice.begin(backend, beganAt, beganAt + timeBudgetMilliseconds + ATTEMPT_SLACK_MILLISECONDS);
  const abort = new AbortController();
  // When the client disconnects, workerd never resumes the code after the next `await`.
  const leave = () => {
    choice.end(attempt, clock.now(), { kind: "abandoned" });
    abort.abort();
  };
  clientSignal.addEventListener("abort", leave);
  const upload = followUpload(forwarded, attempt, { bytes, timeBudgetMilliseconds, giveUp: () => abort.abort() });
  const end = (result: AttemptResult) => {
    choice.end(attempt, clock.now(), result);
    if (result.kind === "failed") forwarded.inBackground(probeDueBackends(forwarded));
  };
  try {
    const { signal } = abort;
    const response = await forwarded.send(backend, { bytes, timeBudgetMilliseconds, signal, taken: upload.taken });
    const meaning = meaningOf(response);
    end(resultOf(response));
    if (meaning.kind === "answered") return { kind: "answered", answer: response.answer };
    forwarded.report(backend, causeOf(response), meaning.kind === "busy");
    await forwarded.discard(response.answer);
    return meaning;
  } catch (error) {
    end({ kind: "failed" });
    forwarded.report(backend, String(error));
    return upload.failure();
  } finally {
    upload.stop();
    clientSignal.removeEventListener("abort", leave);
  }
}

interface FollowedUpload {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly timeBudgetMilliseconds: number;
  giveUp(): void;
}

/** Follows what a backend takes of a body. Its time for the answer begins when it has all of it. */
function followUpload<Backend extends NonNullable<unknown>>(
  forwarded: Forwarded<Backend, unknown>,
  attempt: Attempt<Backend>,
  { bytes, timeBudgetMilliseconds, giveUp }: FollowedUpload,
) {
  const { clock, attempts, body } = forwarded;
  const { backend, beganAt } = attempt;
  let sentAt = Number.POSITIVE_INFINITY;
  let isSomeTaken = false;
  let isOver = false;
  const watch = watchBackend({
    clock,
    deadline: beganAt + timeBudgetMilliseconds,
    probe: () => forwarded.inBackground(probeDueBackends(forwarded)),
    isHopeless: () => attempts.isHopeless({ backend, beganAt, sentAt, bodyBytes: bytes.length }, clock.now()),
    giveUp,
  });
  const waitUntil = (deadline: number) => {
    watch.setDeadline(deadline);
    attempt.expiresAt = deadline + ATTEMPT_SLACK_MILLISECONDS;
  };
  const taken = (part: TakenPart) => {
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
  /** What it means that no answer has come. */
  const failure = (): FailedAttempt => {
    if (sentAt < Number.POSITIVE_INFINITY) return { kind: "lost" };
    return { kind: "unavailable", failure: isSomeTaken ? "interrupted" : "unreachable" };
  };
  const stop = () => {
    isOver = true;
    watch.stop();
  };
  return { taken, failure, stop };
}
