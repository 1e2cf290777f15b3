/**
 * Tries a render on the origins, one after another, until one of them answers. Every decision about an attempt is made here or in
 * the files that this one imports. Whatever talks to an origin is passed in, and so is the clock, so that the simulation can run
 * this code.
 */
import type { BackendLoad } from "../../rules/http/backend-load.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import type { Clock } from "../clock.ts";
import type { HeldBody } from "../held-body.ts";
import type { OriginChoice } from "./origin-choice.ts";
import type { FailedAttempt, NextStep, RenderAttempts } from "./render-attempts.ts";
import { watchOrigin } from "./watch-origin.ts";

/** How long an attempt is remembered after its deadline, to allow for delays in workerd. */
const SLACK_MILLISECONDS = 1000;
/** Used for a full origin that sends no usable `Retry-After`. */
const DEFAULT_RETRY_AFTER_SECONDS = 1;
/** The most that is passed on. No setting lets a render wait and run for longer: by then another one has room. */
const MAX_RETRY_AFTER_SECONDS = 900;

/** The statuses of problems that are a result for the client. Any other means that the origin is not working. */
const FINAL_PROBLEM_STATUSES: ReadonlySet<number> = new Set([400, 408, 413, 422, 500]);

/**
 * What an answer holds by its head: a rendered file, a problem of this service with the status that its code has, or what
 * no backend sends. Only the first two may reach a caller.
 */
export type AnswerContent = "file" | "problem" | "foreign";

/** The beginning of an origin's answer. */
export interface OriginAnswer<Answer> {
  readonly status: number;
  readonly content: AnswerContent;
  /** The value of `Retry-After`. */
  readonly retryAfter: string | null;
  readonly load: BackendLoad | null;
  readonly answer: Answer;
}

export interface Sending {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How long the edge waits for the answer. */
  readonly patienceMilliseconds: number;
  /** Aborted when the attempt is given up. */
  readonly signal: AbortSignal;
  /** To be called when the origin has taken the last byte. */
  sent(): void;
}

export interface Forwarded<Origin, Answer> {
  readonly origins: readonly Origin[];
  readonly choice: OriginChoice;
  readonly attempts: RenderAttempts;
  readonly clock: Clock;
  /** In milliseconds since 1970. */
  readonly deadline: number;
  readonly body: Pick<HeldBody, "bytes" | "keep" | "offer">;
  /** Aborted when the client disconnects. */
  readonly clientSignal: AbortSignal;
  /** Sends the render. It rejects when no answer begins. */
  send(origin: Origin, sending: Sending): Promise<OriginAnswer<Answer>>;
  /** Whether the origin answers at all; false after the timeout. */
  isAlive(origin: Origin, timeoutMilliseconds: number): Promise<boolean>;
  /** Drops an answer that the client does not get. */
  discard(answer: Answer): Promise<void>;
  /** Reports to the operator that an origin did not answer. */
  report(origin: Origin, cause: string): void;
}

export type ForwardingEnd<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | Extract<NextStep, { kind: "busy" | "failed" }>;

type AttemptEnd<Answer> = Extract<ForwardingEnd<Answer>, { kind: "answered" }> | FailedAttempt;

/** When the client disconnects, the attempt is aborted, which ends the render. */
export async function tryOrigins<Origin, Answer>(forwarded: Forwarded<Origin, Answer>): Promise<ForwardingEnd<Answer>> {
  const { origins, attempts, clock, body } = forwarded;
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
    const origin = origins[step.origin];
    if (origin === undefined) throw new RangeError(`there is no origin ${step.origin}`);
    body.keep();
    const bytes = body.bytes;
    // Another request has taken the memory.
    if (bytes === null) return attempts.giveUp();
    attempts.begin(step.origin);
    const end = await tryOrigin(forwarded, { origin, index: step.origin, bytes });
    if (end.kind === "answered") return end;
    attempts.fail(step.origin, end);
  }
}

interface AttemptInput<Origin> {
  readonly origin: Origin;
  readonly index: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

async function tryOrigin<Origin, Answer>(
  forwarded: Forwarded<Origin, Answer>,
  { origin, index, bytes }: AttemptInput<Origin>,
): Promise<AttemptEnd<Answer>> {
  const { choice, clock, deadline, clientSignal, body } = forwarded;
  const attempt = choice.begin(index, deadline + SLACK_MILLISECONDS);
  const abort = new AbortController();
  // When the client disconnects, workerd never resumes the code after the next `await`.
  const leave = () => {
    choice.end(attempt, clock.now(), { kind: "abandoned" });
    abort.abort();
  };
  clientSignal.addEventListener("abort", leave);
  const stopWatching = watchOrigin({
    clock,
    deadline,
    isAlive: (timeoutMilliseconds) => forwarded.isAlive(origin, timeoutMilliseconds),
    giveUp: () => abort.abort(),
  });
  let isSent = false;
  let isOver = false;
  const sent = () => {
    // If the origin answered early, the rest of the body may arrive there while the next origin already gets it.
    if (isOver) return;
    isSent = true;
    body.offer();
  };
  try {
    const patienceMilliseconds = Math.max(0, deadline - clock.now());
    const response = await forwarded.send(origin, { bytes, patienceMilliseconds, signal: abort.signal, sent });
    const end = classify(response);
    const isWell = end.kind === "answered" || end.kind === "busy" || response.load?.isDraining === true;
    choice.end(attempt, clock.now(), isWell ? { kind: "answered", load: response.load } : { kind: "failed" });
    if (end.kind === "answered") return end;
    forwarded.report(origin, causeOf(response));
    await forwarded.discard(response.answer);
    return end;
  } catch (error) {
    // If an earlier origin has used up some of the patience, the deadline says nothing about this one.
    const isBlameless = forwarded.attempts.attempts > 1 && clock.now() >= deadline;
    choice.end(attempt, clock.now(), { kind: isBlameless ? "abandoned" : "failed" });
    forwarded.report(origin, String(error));
    return { kind: isSent ? "lost" : "unavailable" };
  } finally {
    isOver = true;
    stopWatching();
    clientSignal.removeEventListener("abort", leave);
  }
}

/** What an answer means for the client. An answer that no render ends with comes from a proxy or a wrong address. */
function classify<Answer>({ status, content, retryAfter, answer }: OriginAnswer<Answer>): AttemptEnd<Answer> {
  switch (content) {
    case "foreign":
      return { kind: "unavailable" };
    case "file":
      return status === 200 ? { kind: "answered", answer } : { kind: "unavailable" };
    case "problem":
      if (FINAL_PROBLEM_STATUSES.has(status)) return { kind: "answered", answer };
      if (status !== PROBLEMS.render_queue_full.status) return { kind: "unavailable" };
      return { kind: "busy", retryAfterSeconds: retryAfterSeconds(retryAfter) };
  }
}

/** Why an answer is none for the client, for the log. */
function causeOf({ status, content }: OriginAnswer<unknown>): string {
  if (content === "foreign") return `status ${status} of something else than a backend`;
  // The token is all that a backend's 403 can be about.
  return status === PROBLEMS.forbidden.status
    ? `status ${status}: it does not accept SERVICE_BACKEND_TOKEN`
    : `status ${status}`;
}

function retryAfterSeconds(text: string | null): number {
  const seconds = /^[0-9]+$/.test(text ?? "") ? Number(text) : 0;
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : DEFAULT_RETRY_AFTER_SECONDS;
}
