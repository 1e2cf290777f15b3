/**
 * Decides when the page renders: when the user asks for it, or after a pause in typing. At most one request is under
 * way, the latest draft is rendered last, and no request is sent before the time that the service has named.
 */
import { waitOfProblem } from "../../typescript/retry.ts";
import type { Draft } from "../drafts/draft.ts";
import { callRender, type Progress, type RenderOutcome, unreachableReason, type WaitReason } from "./service-call.ts";

/** `asked`: the user asked for it. `typing`: the draft has changed. */
export type RenderCause = "asked" | "typing";

export interface RenderPage {
  draft(): Draft;
  /** The draft to render, and the token; null if nothing can be sent: to a user who asked, the page says why. */
  prepare(cause: RenderCause): { readonly draft: Draft; readonly token: string } | null;
  /** A render begins, or the page waits before one. */
  onProgress(progress: Progress): void;
  onOutcome(outcome: SettledOutcome, draft: Draft, elapsedSeconds: number): void;
}

export type SettledOutcome =
  | Exclude<RenderOutcome, { readonly kind: "unreachable" }>
  /** No automatic attempt follows. */
  | { readonly kind: "unreachable"; readonly reason: "unreachable" | "offline" }
  /** The page has stopped waiting, and sends nothing: typing no longer renders, or the draft has a problem. */
  | { readonly kind: "not sent" };

/** While typing, the page renders after a pause of this length. */
const TYPING_PAUSE_MILLISECONDS = 600;
/** If typing renders, the page tries an unreachable service again after this time. */
const UNREACHABLE_PAUSE_MILLISECONDS = 10_000;

interface Run {
  readonly draft: Draft;
  readonly controller: AbortController;
  /** Between two attempts: no request is under way. */
  isWaiting: boolean;
}

export class RenderSession {
  readonly #page: RenderPage;
  #rendersWhileTyping = false;
  #run: Run | null = null;
  /** The render that has been requested while another was under way. */
  #next: RenderCause | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** No request is sent before this time, by the clock of `performance.now()`. */
  #notBeforeMilliseconds = 0;
  #lastDraft: Draft | null = null;
  /** Whether the page shows that it waits. */
  #showsWait = false;
  /** Whether the last render failed because there was no connection. */
  #waitsForConnection = false;

  constructor(page: RenderPage) {
    this.#page = page;
    addEventListener("online", () => {
      if (this.#waitsForConnection && this.#run === null) this.request("typing");
    });
  }

  set rendersWhileTyping(value: boolean) {
    this.#rendersWhileTyping = value;
    if (value) this.draftChanged();
    else if (this.#run === null) this.#stopWaiting();
  }

  draftChanged(): void {
    if (!this.#rendersWhileTyping) return;
    this.#schedule("typing", TYPING_PAUSE_MILLISECONDS);
  }

  /** Renders now, or as soon as the render that is under way has ended. */
  request(cause: RenderCause): void {
    this.#clearTimer();
    const run = this.#run;
    if (run === null) {
      const pause = this.#notBeforeMilliseconds - performance.now();
      if (pause > 0) this.#wait(cause, "busy", this.#notBeforeMilliseconds);
      else void this.#start(cause);
      return;
    }
    if (!run.isWaiting && run.draft === this.#page.draft()) return;
    this.#next = this.#next === "asked" ? "asked" : cause;
    // The draft that it waits to send is outdated.
    if (run.isWaiting) run.controller.abort(SUPERSEDED);
  }

  cancel(): void {
    this.#next = null;
    this.#clearTimer();
    this.#showsWait = false;
    if (this.#run !== null) this.#run.controller.abort();
    else this.#page.onOutcome({ kind: "cancelled" }, this.#page.draft(), 0);
  }

  async #start(cause: RenderCause): Promise<void> {
    const prepared = this.#page.prepare(cause);
    if (prepared === null) {
      this.#stopWaiting();
      return;
    }
    const { draft, token } = prepared;
    if (cause === "typing" && draft === this.#lastDraft) {
      this.#stopWaiting();
      return;
    }
    this.#lastDraft = draft;
    this.#showsWait = false;
    this.#waitsForConnection = false;
    if (!navigator.onLine) {
      this.#unreachable(draft, 0);
      return;
    }
    const run: Run = { draft, controller: new AbortController(), isWaiting: false };
    this.#run = run;
    const started = performance.now();
    this.#page.onProgress({ phase: "rendering" });
    const outcome = await callRender(draft, token, run.controller.signal, (progress) => {
      run.isWaiting = progress.phase === "waiting";
      if (progress.phase === "waiting" && progress.reason === "busy") {
        this.#notBeforeMilliseconds = progress.untilMilliseconds;
      }
      this.#page.onProgress(progress);
      if (run.isWaiting && this.#next !== null) run.controller.abort(SUPERSEDED);
    });
    this.#run = null;
    const next = this.#next;
    this.#next = null;
    if (outcome.kind === "document" || outcome.kind === "problem") this.#notBeforeMilliseconds = 0;
    const waitSeconds = outcome.kind === "problem" ? waitOfProblem(outcome.problem) : null;
    if (waitSeconds !== null) this.#notBeforeMilliseconds = performance.now() + waitSeconds * 1000;
    const elapsedSeconds = (performance.now() - started) / 1000;
    if (run.controller.signal.reason === SUPERSEDED) {
      this.#showsWait = true;
    } else {
      if (outcome.kind === "unreachable") this.#unreachable(draft, elapsedSeconds);
      else this.#page.onOutcome(outcome, draft, elapsedSeconds);
    }
    if (next !== null) this.request(next);
    else if (outcome.kind === "cancelled") this.#stopWaiting();
  }

  /** If typing renders, the page tries again by itself. */
  #unreachable(draft: Draft, elapsedSeconds: number): void {
    this.#lastDraft = null;
    const reason = unreachableReason();
    this.#waitsForConnection = true;
    this.#page.onOutcome({ kind: "unreachable", reason }, draft, elapsedSeconds);
    if (!this.#rendersWhileTyping || reason === "offline") return;
    this.#wait("typing", reason, performance.now() + UNREACHABLE_PAUSE_MILLISECONDS);
  }

  /** Renders at a later time, and shows the wait. */
  #wait(cause: RenderCause, reason: WaitReason, untilMilliseconds: number): void {
    this.#showsWait = true;
    this.#page.onProgress({ phase: "waiting", reason, untilMilliseconds });
    this.#schedule(cause, untilMilliseconds - performance.now());
  }

  #stopWaiting(): void {
    this.#clearTimer();
    if (!this.#showsWait) return;
    this.#showsWait = false;
    this.#page.onOutcome({ kind: "not sent" }, this.#page.draft(), 0);
  }

  #schedule(cause: RenderCause, pauseMilliseconds: number): void {
    this.#clearTimer();
    this.#timer = setTimeout(() => this.request(cause), pauseMilliseconds);
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The reason for ending a run that waits to send an outdated draft. */
const SUPERSEDED = new DOMException("A newer draft is to be rendered.", "AbortError");
