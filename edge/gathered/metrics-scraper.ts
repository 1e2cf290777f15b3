/** The metrics of all backends, kept for some seconds: a scrape takes the event loop of a backend some milliseconds. */
import type { Backend } from "../backends/backend.ts";
import { fetchText } from "../backends/fetch-text.ts";
import { mergeMetrics, type Scrape } from "./prometheus-text.ts";
import { SharedAnswer } from "./shared-answer.ts";

const SCRAPE_BOUNDS = {
  timeoutMilliseconds: 5000,
  /** Far more than the metrics of a backend; a longer response does not come from one. */
  maxBytes: 1024 * 1024,
} as const;
/** Shorter than the usual scrape intervals. */
const KEEP_MILLISECONDS = 5000;

interface Scraped {
  readonly backends: readonly Backend[];
  /** Whether a render or a probe has ever been answered by one. */
  hasAnswered(backend: Backend): boolean;
}

export class MetricsScraper {
  readonly #answer: SharedAnswer<string>;
  /** Those that have answered a scrape. */
  readonly #known = new WeakSet<Backend>();

  /** @param isPublic whether anybody may read the result: it then names no callers. */
  constructor(scraped: Scraped, isPublic: boolean) {
    this.#answer = new SharedAnswer(async () => {
      const scrapes = scraped.backends.map((backend) => this.#scrape(backend, scraped));
      return { value: mergeMetrics(await Promise.all(scrapes), isPublic), keepMilliseconds: KEEP_MILLISECONDS };
    }, SCRAPE_BOUNDS.timeoutMilliseconds);
  }

  metrics(clientGone: () => AbortSignal): Promise<string> {
    return this.#answer.get(clientGone);
  }

  async #scrape(backend: Backend, scraped: Scraped): Promise<Scrape> {
    const text = await fetchText(backend, "/metrics", SCRAPE_BOUNDS);
    if (text !== null) this.#known.add(backend);
    return { backend: backend.name, text, isAbsent: !this.#known.has(backend) && !scraped.hasAnswered(backend) };
  }
}
