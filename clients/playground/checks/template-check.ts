/** Asks a worker what renders without an error in a draft, and is not what its author expects. */
import type { Draft } from "../drafts/draft.ts";
import { TimedWorker } from "../page/timed-worker.ts";
import type { DraftFinding } from "./findings.ts";
import type { DraftTexts } from "./template-hints.ts";

const MAX_READ_MILLISECONDS = 10_000;

export class TemplateCheck {
  readonly #worker = new TimedWorker<DraftTexts, readonly DraftFinding[]>(
    "playground/template-worker.js",
    MAX_READ_MILLISECONDS,
  );
  readonly #mayBegin: Promise<unknown>;
  readonly #onNews: () => void;
  #asked: Draft | null = null;
  #hints: readonly DraftFinding[] = [];

  /** @param mayBegin the worker and its parser are loaded after this. */
  constructor(mayBegin: Promise<unknown>, onNews: () => void) {
    this.#mayBegin = mayBegin;
    this.#onNews = onNews;
  }

  /** None until the worker has answered, and if it cannot. */
  hintsOn(draft: Draft): readonly DraftFinding[] {
    if (draft !== this.#asked) void this.#ask(draft);
    return this.#hints;
  }

  async #ask(draft: Draft): Promise<void> {
    this.#asked = draft;
    this.#hints = [];
    await this.#mayBegin;
    if (draft !== this.#asked) return;
    const answer = await this.#worker.ask(textsOf(draft));
    // Of two questions, only the last one is answered.
    this.#hints = typeof answer === "string" ? [] : answer;
    if (this.#hints.length > 0) this.#onNews();
  }
}

function textsOf({ source, data, files }: Draft): DraftTexts {
  const texts = files.flatMap(({ key, content: { value } }) =>
    key.endsWith(".typ") && typeof value === "string" ? [{ key, text: value }] : [],
  );
  return { source, data, files: texts };
}
