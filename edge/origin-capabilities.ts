/**
 * What all backends have installed, gathered from them and kept for some time.
 *
 * A backend that does not answer counts with its last document, for as long as it may be about to return; after that the
 * others decide alone. Where backends differ, a log line names what not all of them have.
 */
import {
  CAPABILITIES_PATH,
  type Capabilities,
  capabilityDifferences,
  commonCapabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../rules/capabilities.ts";
import { fetchText } from "./origins/fetch-text.ts";
import type { Origin } from "./origins/origin.ts";
import { type Gathered, SharedAnswer } from "./shared-answer.ts";

const BOUNDS = { timeoutMilliseconds: 5000, maxBytes: MAX_CAPABILITIES_BYTES } as const;
/** Fonts and packages change with a deployment only. */
const KEEP_MILLISECONDS = 60_000;
/** When a backend did not answer: it may be back soon. */
const KEEP_INCOMPLETE_MILLISECONDS = 5000;
/** How long a backend that does not answer counts with what it had. */
const STALE_MILLISECONDS = 60 * 60 * 1000;
/** The log names this many differences. */
const MAX_LOGGED_DIFFERENCES = 20;

/** The document as it is served. */
export interface CapabilitiesAnswer {
  readonly body: Uint8Array;
  readonly etag: string;
}

interface KnownCapabilities {
  readonly capabilities: Capabilities;
  readonly answeredAt: number;
}

export class OriginCapabilities {
  readonly #origins: readonly Origin[];
  readonly #known = new Map<Origin, KnownCapabilities>();
  readonly #answer: SharedAnswer<CapabilitiesAnswer | null>;
  #loggedDifferences = "";

  constructor(origins: readonly Origin[]) {
    this.#origins = origins;
    this.#answer = new SharedAnswer(() => this.#gather(), BOUNDS.timeoutMilliseconds);
  }

  /**
   * The document; null if no backend has answered lately.
   *
   * @param clientGone aborted when the client disconnects.
   */
  answer(clientGone: AbortSignal): Promise<CapabilitiesAnswer | null> {
    return this.#answer.get(clientGone);
  }

  async #gather(): Promise<Gathered<CapabilitiesAnswer | null>> {
    const answers = await Promise.all(this.#origins.map((origin) => this.#ask(origin)));
    const isComplete = answers.every((hasAnswered) => hasAnswered);
    const all = [...this.#known.values()].map(({ capabilities }) => capabilities);
    this.#logDifferences(all);
    const [first, ...others] = all;
    return {
      value: first === undefined ? null : await servedAnswer(commonCapabilities([first, ...others])),
      keepMilliseconds: isComplete ? KEEP_MILLISECONDS : KEEP_INCOMPLETE_MILLISECONDS,
    };
  }

  /** Whether the origin has answered with a document. */
  async #ask(origin: Origin): Promise<boolean> {
    const text = await fetchText(origin, CAPABILITIES_PATH, BOUNDS);
    const capabilities = text === null ? null : parseCapabilities(text);
    const now = Date.now();
    if (capabilities !== null) this.#known.set(origin, { capabilities, answeredAt: now });
    else if (now - (this.#known.get(origin)?.answeredAt ?? 0) > STALE_MILLISECONDS) this.#known.delete(origin);
    return capabilities !== null;
  }

  /** Once for each change, not at each gathering. */
  #logDifferences(all: readonly Capabilities[]): void {
    const differences = capabilityDifferences(all);
    const text = differences.join();
    if (text === this.#loggedDifferences) return;
    this.#loggedDifferences = text;
    if (differences.length === 0) return;
    console.warn({
      message: "the backends have not the same installed",
      origins: [...this.#known.keys()].map(({ name }) => name),
      notEverywhere: differences.slice(0, MAX_LOGGED_DIFFERENCES),
      notEverywhereCount: differences.length,
    });
  }
}

async function servedAnswer(capabilities: Capabilities): Promise<CapabilitiesAnswer> {
  const body = new TextEncoder().encode(JSON.stringify(capabilities));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return { body, etag: `"${digest.toHex().slice(0, 32)}"` };
}
