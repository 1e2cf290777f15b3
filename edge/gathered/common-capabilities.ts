/**
 * The capabilities that all backends have in common. One that does not answer is represented by its last document for
 * up to an hour; one that is no longer listed, not at all. If they differ, a log line names what some of them lack.
 */
import {
  CAPABILITIES_PATH,
  type Capabilities,
  capabilityDifferences,
  commonCapabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../../protocol/capabilities.ts";
import { type Backend, fetchText } from "../backends/backend.ts";
import { type Gathered, SharedAnswer } from "./shared-answer.ts";

const BOUNDS = { timeoutMilliseconds: 5000, maxBytes: MAX_CAPABILITIES_BYTES } as const;
const KEEP_MILLISECONDS = 60_000;
const KEEP_INCOMPLETE_MILLISECONDS = 5000;
const STALE_MILLISECONDS = 60 * 60 * 1000;
const MAX_LOGGED_DIFFERENCES = 20;

interface KnownCapabilities {
  readonly capabilities: Capabilities;
  readonly answeredAt: number;
}

export class CommonCapabilities {
  readonly #pool: { readonly backends: readonly Backend[] };
  readonly #known = new Map<Backend, KnownCapabilities>();
  readonly #answer: SharedAnswer<Capabilities | null>;
  #loggedDifferences = "";

  constructor(pool: { readonly backends: readonly Backend[] }) {
    this.#pool = pool;
    this.#answer = new SharedAnswer(() => this.#gather(), BOUNDS.timeoutMilliseconds);
  }

  answer(clientGone: () => AbortSignal): Promise<Capabilities | null> {
    return this.#answer.get(clientGone);
  }

  async #gather(): Promise<Gathered<Capabilities | null>> {
    const { backends } = this.#pool;
    const answers = await Promise.all(backends.map((backend) => this.#ask(backend)));
    for (const backend of this.#known.keys()) if (!backends.includes(backend)) this.#known.delete(backend);
    const isComplete = answers.every((hasAnswered) => hasAnswered);
    const all = [...this.#known.values()].map(({ capabilities }) => capabilities);
    this.#logDifferences(all);
    const [first, ...others] = all;
    return {
      value: first === undefined ? null : commonCapabilities([first, ...others]),
      keepMilliseconds: isComplete ? KEEP_MILLISECONDS : KEEP_INCOMPLETE_MILLISECONDS,
    };
  }

  async #ask(backend: Backend): Promise<boolean> {
    const text = await fetchText(backend, CAPABILITIES_PATH, BOUNDS);
    const capabilities = text === null ? null : parseCapabilities(text);
    const now = Date.now();
    if (capabilities !== null) this.#known.set(backend, { capabilities, answeredAt: now });
    else if (now - (this.#known.get(backend)?.answeredAt ?? 0) > STALE_MILLISECONDS) this.#known.delete(backend);
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
      message: "the backends do not have the same capabilities",
      origins: [...this.#known.keys()].map(({ name }) => name),
      notEverywhere: differences.slice(0, MAX_LOGGED_DIFFERENCES),
      notEverywhereCount: differences.length,
    });
  }
}
