/**
 * Tries a render on the backends, one after another, until one of them answers. Every decision about an attempt is made here or in
 * the files that this one imports. Whatever talks to a backend is passed in, and so is the clock, so that the simulation can run
 * this code.
 */
import type { HeldBody } from "../body/body-memory.ts";
import { type BackendAnswer, causeOf, meaningOf, resultOf } from "./backend-answer.ts";
import type { AttemptResult } from "./backend-choice.ts";
import type { FailedAttempt, NextStep, RenderAttempts } from "./render-attempts.ts";
import { type Probing, probeDueBackends, watchBackend } from "./watch-backend.ts";

/** How long an attempt is remembered after its deadline, to allow for delays in workerd. */
export const ATTEMPT_SLACK_MILLISECONDS = 1000;

export interface Sending {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How long the edge waits for the answer of this backend. */
  readonly timeBudgetMilliseconds: number;
  /** Aborted when the attempt is given up. */
  readonly signal: AbortSignal;
  /** To be called when the backend has taken the last byte. */
  sent(): void;
}

export interface Forwarded<Backend, Answer> extends Probing<Backend> {
  readonly attempts: RenderAttempts;
  /** In milliseconds since 1970. */
  readonly deadline: number;
  /** How long a backend may take by its own deadlines. */
  readonly longestAnswerMilliseconds: number;
  readonly body: Pick<HeldBody, "bytes" | "withdraw" | "offer">;
  /** Aborted when the client disconnects. */
  readonly clientSignal: AbortSignal;
  /** Sends the render. It rejects when no answer begins. */
  send(backend: Backend, sending: Sending): Promise<BackendAnswer<Answer>>;
  /** Drops an answer that the client does not get. */
  discard(answer: Answer): Promise<void>;
  /** Lets work go on that the answer does not wait for. */
  inBackground(work: Promise<void>): void;
}

export type ForwardingEnd<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | Extract<NextStep, { kind: "busy" | "failed" }>;

type AttemptEnd<Answer> = Extract<ForwardingEnd<Answer>, { kind: "answered" }> | FailedAttempt;

/** When the client disconnects, the attempt is aborted, which ends the render. */
export async function tryBackends<Backend, Answer>(
  forwarded: Forwarded<Backend, Answer>,
): Promise<ForwardingEnd<Answer>> {
  const { backends, attempts, clock, body } = forwarded;
  forwarded.inBackground(probeDueBackends(forwarded));
  // Bounded by the number of attempts that `RenderAttempts` allows.
  for (;;) {
    const step = attempts.next(clock.now());
    switch (step.kind) {
      case "wait":
        await clock.wait(step.milliseconds);
        continue;
      case "busy":
      case "failed":
        return step;
      case "try":
        break;
    }
    const backend = backends[step.backend];
    if (backend === undefined) throw new RangeError(`there is no backend ${step.backend}`);
    body.withdraw();
    const bytes = body.bytes;
    // Another request has taken the memory.
    if (bytes === null) return attempts.giveUp(false);
    attempts.begin(step.backend);
    const end = await tryBackend(forwarded, backend, step.backend, bytes);
    if (end.kind === "answered") return end;
    attempts.fail(step.backend, end);
  }
}

async function tryBackend<Backend, Answer>(
  forwarded: Forwarded<Backend, Answer>,
  backend: Backend,
  index: number,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<AttemptEnd<Answer>> {
  const { choice, clock, clientSignal, body } = forwarded;
  const beganAt = clock.now();
  const deadline = Math.min(forwarded.deadline, beganAt + forwarded.longestAnswerMilliseconds);
  const attempt = choice.begin(index, beganAt, deadline + ATTEMPT_SLACK_MILLISECONDS);
  const abort = new AbortController();
  // When the client disconnects, workerd never resumes the code after the next `await`.
  const leave = () => {
    choice.end(attempt, clock.now(), { kind: "abandoned" });
    abort.abort();
  };
  clientSignal.addEventListener("abort", leave);
  let sentAt = Number.POSITIVE_INFINITY;
  const stopWatching = watchBackend({
    clock,
    deadline,
    probe: () => forwarded.inBackground(probeDueBackends(forwarded)),
    isHopeless: () =>
      forwarded.attempts.isHopeless({ backend: index, beganAt, sentAt, bodyBytes: bytes.length }, clock.now()),
    giveUp: () => abort.abort(),
  });
  let isOver = false;
  const sent = () => {
    // If the backend answered early, the rest of the body may arrive there while the next backend already gets it.
    if (isOver) return;
    sentAt = clock.now();
    body.offer();
  };
  const end = (result: AttemptResult) => {
    choice.end(attempt, clock.now(), result);
    if (result.kind === "failed") forwarded.inBackground(probeDueBackends(forwarded));
  };
  try {
    const timeBudgetMilliseconds = Math.max(0, deadline - beganAt);
    const response = await forwarded.send(backend, { bytes, timeBudgetMilliseconds, signal: abort.signal, sent });
    const meaning = meaningOf(response);
    end(resultOf(response));
    if (meaning.kind === "answered") return { kind: "answered", answer: response.answer };
    forwarded.report(backend, causeOf(response), meaning.kind === "busy");
    await forwarded.discard(response.answer);
    return meaning;
  } catch (error) {
    end({ kind: "failed" });
    forwarded.report(backend, String(error));
    return sentAt < Number.POSITIVE_INFINITY ? { kind: "lost" } : { kind: "unavailable", failure: "unreachable" };
  } finally {
    isOver = true;
    stopWatching();
    clientSignal.removeEventListener("abort", leave);
  }
}
