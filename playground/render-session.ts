/**
 * When the page renders: when somebody asks for it, or after a pause in typing. Never more than one request is under way; what was
 * written last is rendered last, and no request is sent before the time that the service has named.
 */
import type { Draft } from "./draft.ts";
import { callRender, type Progress, type RenderOutcome, unreachableReason, type WaitReason } from "./service-call.ts";

/** `asked`: by a person. `typing`: because the draft has changed. */
export type RenderCause = "asked" | "typing";

/** What the page does with a render. */
export interface RenderPage {
  draft(): Draft;
  /** What to render and by which token; null if there is nothing that can be sent. The page says why to a person who has asked. */
  prepare(cause: RenderCause): { readonly draft: Draft; readonly token: string } | null;
  /** A render begins or is waited for. */
  onProgress(progress: Progress): void;
  onOutcome(outcome: SettledOutcome, draft: Draft, elapsedSeconds: number): void;
}

export type SettledOutcome =
  | Exclude<RenderOutcome, { readonly kind: "unreachable" }>
  /** No further attempt follows by itself. */
  | { readonly kind: "unreachable"; readonly reason: "unreachable" | "offline" }
  /** The page has stopped waiting, and sends nothing: typing no longer renders, or the draft has a problem. */
  | { readonly kind: "not sent" };

/** Rendering while typing waits for a pause this long. */
const TYPING_PAUSE_MILLISECONDS = 600;
/** While typing renders, an unreachable service is asked again after this time. */
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
  /** What has been asked for while a render was under way. */
  #next: RenderCause | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** No request is sent before. By the clock of `performance.now()`. */
  #notBeforeMilliseconds = 0;
  #lastDraft: Draft | null = null;
  /** Whether the page shows that it waits. */
  #showsWait = false;
  /** The last render has failed for want of a connection. */
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
    // What it waits to send is no longer what is wanted.
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
    if (outcome.kind === "problem" && outcome.problem.code === "render_queue_full") {
      this.#notBeforeMilliseconds = performance.now() + outcome.problem.context.retry_after * 1000;
    }
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

  /** While typing renders, the page tries again by itself. */
  #unreachable(draft: Draft, elapsedSeconds: number): void {
    this.#lastDraft = null;
    const reason = unreachableReason();
    this.#waitsForConnection = true;
    this.#page.onOutcome({ kind: "unreachable", reason }, draft, elapsedSeconds);
    if (!this.#rendersWhileTyping || reason === "offline") return;
    this.#wait("typing", reason, performance.now() + UNREACHABLE_PAUSE_MILLISECONDS);
  }

  /** Renders later, and shows until when. */
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

/** Why a run is ended that waited to send what is no longer wanted. */
const SUPERSEDED = new DOMException("A newer draft is to be rendered.", "AbortError");
