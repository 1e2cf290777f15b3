/**
 * The metrics of all backends, gathered once for everybody who asks within some seconds. `/metrics` needs no token, and
 * each scrape costs every backend's event loop some milliseconds.
 */
import { mergeMetrics, type OriginMetrics } from "./prometheus-text.ts";
import { readInTime } from "./read-in-time.ts";

const SCRAPE_TIMEOUT_MILLISECONDS = 5000;
/** Far more than a backend's metrics have; an answer beyond it is not one of ours. */
const MAX_METRICS_BYTES = 1024 * 1024;
/** Less than the shortest usual interval between scrapes. */
const KEPT_MILLISECONDS = 5000;
/** Between the starts of two scrapes, whatever becomes of the first. */
const MIN_INTERVAL_MILLISECONDS = 1000;
/** Scrapes wait for each other by their own timers: in workerd, one request must not wake another. */
const LOOK_AGAIN_MILLISECONDS = 20;

export class MetricsScraper {
  readonly #backendUrls: readonly URL[];
  #kept = { text: "", until: 0 };
  /** When the scrape that is under way ends at the latest; its code may be dropped with its client. */
  #busyUntil = 0;

  constructor(backendUrls: readonly URL[]) {
    this.#backendUrls = backendUrls;
  }

  /**
   * One exposition of all backends, at most `KEPT_MILLISECONDS` old.
   *
   * @param clientGone aborted when whoever asks has gone: then another who waits takes over.
   */
  async metrics(clientGone: AbortSignal): Promise<string> {
    // Bounded: a scrape under way leaves either an answer or its place at a known time.
    while (Date.now() >= this.#kept.until) {
      if (Date.now() >= this.#busyUntil) return this.#scrapeAlone(clientGone);
      await scheduler.wait(LOOK_AGAIN_MILLISECONDS);
    }
    return this.#kept.text;
  }

  async #scrapeAlone(clientGone: AbortSignal): Promise<string> {
    const startedAt = Date.now();
    const busyUntil = startedAt + SCRAPE_TIMEOUT_MILLISECONDS + LOOK_AGAIN_MILLISECONDS;
    this.#busyUntil = busyUntil;
    clientGone.addEventListener("abort", () => {
      // Not at once: clients that reset one after the other would make a scrape each.
      if (this.#busyUntil === busyUntil) this.#busyUntil = startedAt + MIN_INTERVAL_MILLISECONDS;
    });
    const origins = await Promise.all(
      this.#backendUrls.map(async (url, index) => ({ origin: `backend-${index + 1}`, text: await scrape(url) })),
    );
    const text = mergeMetrics(origins);
    this.#kept = { text, until: Date.now() + KEPT_MILLISECONDS };
    this.#busyUntil = 0;
    return text;
  }
}

/** The metrics of one backend; null where they could not be had. */
async function scrape(url: URL): Promise<OriginMetrics["text"]> {
  const deadline = Date.now() + SCRAPE_TIMEOUT_MILLISECONDS;
  try {
    const signal = AbortSignal.timeout(SCRAPE_TIMEOUT_MILLISECONDS);
    const answer = await fetch(new URL("/metrics", url), { signal, redirect: "manual" });
    const text = answer.body === null ? "" : await readText(answer.body, deadline);
    return answer.ok ? text : null;
  } catch {
    return null;
  }
}

/** The text of a body that is no longer than it may be, and comes in time; null of any other, which is read no further. */
async function readText(body: ReadableStream<Uint8Array>, deadline: number): Promise<string | null> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; size <= MAX_METRICS_BYTES; ) {
    const reading = await readInTime(reader.read(), deadline - Date.now());
    if (reading === "late") break;
    if (reading.done) return text + decoder.decode();
    size += reading.value.length;
    text += decoder.decode(reading.value, { stream: true });
  }
  await reader.cancel();
  return null;
}
