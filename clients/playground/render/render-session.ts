/** Decides when the page renders. At most one request is under way, and the latest draft is rendered last. */
import { askedWaitSeconds, type RetryPolicy, retryPolicy, waitBeforeRetry, worthOf } from "../../typescript/retry.ts";
import type { Draft } from "../drafts/draft.ts";
import { type CallOutcome, callRender } from "./service-call.ts";

export type RenderTrigger = "asked" | "typing";

export type WaitReason = "busy" | "unreachable";

/** Until when the page waits before the next attempt, by the clock of `performance.now()`. */
export interface Wait {
  readonly reason: WaitReason;
  readonly untilMilliseconds: number;
}

export interface RenderPage {
  draft(): Draft;
  /** The draft to render, and the token; null if nothing can be sent: to a user who asked, the page says why. */
  prepare(trigger: RenderTrigger): { readonly draft: Draft; readonly token: string } | null;
  onProgress(wait: Wait | null): void;
  onOutcome(outcome: SettledOutcome, draft: Draft, elapsedSeconds: number): void;
}

/** `not sent`: the page has stopped waiting, because typing no longer renders or the draft has a problem. */
export type SettledOutcome = CallOutcome | { readonly kind: "not sent" };

const TYPING_PAUSE_MILLISECONDS = 600;
const ASKED_POLICY = retryPolicy();
const UNLIMITED = Number.POSITIVE_INFINITY;
const TYPING_POLICY: RetryPolicy = { maxAttempts: UNLIMITED, maxBusyAttempts: UNLIMITED, maxTotalSeconds: UNLIMITED };

export class RenderSession {
  readonly #page: RenderPage;
  #rendersWhileTyping = false;
  #underWay: { readonly draft: Draft; readonly controller: AbortController } | null = null;
  #next: RenderTrigger | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isWaiting = false;
  /** No request is sent before this time, by the clock of `performance.now()`. */
  #notBeforeMilliseconds = 0;
  #attempt = 1;
  #requestedMilliseconds = 0;
  #lastRendered: Draft | null = null;
  #isUnreachable = false;

  constructor(page: RenderPage) {
    this.#page = page;
    addEventListener("online", () => {
      if (this.#isUnreachable) this.request("typing");
    });
  }

  set rendersWhileTyping(value: boolean) {
    this.#rendersWhileTyping = value;
    if (value) this.draftChanged();
    else if (this.#underWay === null) this.#stopWaiting();
  }

  draftChanged(): void {
    if (this.#rendersWhileTyping) this.#schedule(() => this.request("typing"), TYPING_PAUSE_MILLISECONDS);
  }

  /** Renders now, or as soon as the render that is under way has ended. */
  request(trigger: RenderTrigger): void {
    if (this.#underWay === null) {
      this.#attempt = 1;
      this.#requestedMilliseconds = performance.now();
      this.#begin(trigger);
    } else if (this.#underWay.draft !== this.#page.draft()) {
      this.#next = this.#next === "asked" ? "asked" : trigger;
    } else {
      // The render may have begun unasked: whoever asks now is shown where its result will be.
      this.#page.prepare(trigger);
    }
  }

  cancel(): void {
    this.#next = null;
    this.#isWaiting = false;
    clearTimeout(this.#timer);
    if (this.#underWay !== null) this.#underWay.controller.abort();
    else this.#page.onOutcome({ kind: "cancelled" }, this.#page.draft(), 0);
  }

  #begin(trigger: RenderTrigger): void {
    clearTimeout(this.#timer);
    if (this.#notBeforeMilliseconds > performance.now()) this.#wait(trigger, "busy", this.#notBeforeMilliseconds);
    else void this.#send(trigger);
  }

  async #send(trigger: RenderTrigger): Promise<void> {
    const prepared = this.#page.prepare(trigger);
    if (prepared === null || (trigger === "typing" && prepared.draft === this.#lastRendered)) {
      this.#stopWaiting();
      return;
    }
    const { draft, token } = prepared;
    const controller = new AbortController();
    this.#isWaiting = false;
    this.#underWay = { draft, controller };
    const started = performance.now();
    this.#page.onProgress(null);
    const outcome: CallOutcome = navigator.onLine
      ? await callRender(draft, token, controller.signal)
      : { kind: "unreachable", error: null };
    this.#underWay = null;
    const next = this.#next;
    this.#next = null;
    const elapsedSeconds = (performance.now() - started) / 1000;
    if (this.#waitsAfter(outcome, next ?? trigger)) return;
    if (outcome.kind === "document" || outcome.kind === "problem") this.#lastRendered = draft;
    this.#page.onOutcome(outcome, draft, elapsedSeconds);
    if (next !== null) this.request(next);
  }

  #waitsAfter(outcome: CallOutcome, trigger: RenderTrigger): boolean {
    this.#isUnreachable = outcome.kind === "unreachable";
    this.#lastRendered = null;
    const failure =
      outcome.kind === "problem" ? outcome.problem : outcome.kind === "unreachable" ? outcome.error : null;
    if (failure === null || worthOf(failure) === "never" || !navigator.onLine) return false;
    const isBusy = worthOf(failure) === "busy";
    const policy = this.#rendersWhileTyping ? TYPING_POLICY : ASKED_POLICY;
    const elapsedSeconds = (performance.now() - this.#requestedMilliseconds) / 1000;
    const waitSeconds = waitBeforeRetry(policy, { attempts: this.#attempt++, elapsedSeconds, failure }, Math.random());
    const untilMilliseconds = performance.now() + (waitSeconds ?? askedWaitSeconds(failure) ?? 0) * 1000;
    if (isBusy) this.#notBeforeMilliseconds = untilMilliseconds;
    if (waitSeconds === null) return false;
    this.#wait(trigger, isBusy ? "busy" : "unreachable", untilMilliseconds);
    return true;
  }

  #wait(trigger: RenderTrigger, reason: WaitReason, untilMilliseconds: number): void {
    this.#isWaiting = true;
    this.#page.onProgress({ reason, untilMilliseconds });
    this.#schedule(() => this.#begin(trigger), untilMilliseconds - performance.now());
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#page.onOutcome({ kind: "not sent" }, this.#page.draft(), 0);
  }

  #schedule(action: () => void, pauseMilliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(action, pauseMilliseconds);
  }
}
