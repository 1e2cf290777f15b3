/**
 * The metrics of all backends, cached for some seconds: `/metrics` needs no token, and each scrape costs the event loop
 * of every backend some milliseconds.
 */
import type { Origin } from "./origins/origin.ts";
import { mergeMetrics, type OriginMetrics } from "./prometheus-text.ts";
import { readInTime } from "./read-in-time.ts";

const SCRAPE_TIMEOUT_MILLISECONDS = 5000;
/** Far more than the metrics of a backend; a longer response does not come from one. */
const MAX_METRICS_BYTES = 1024 * 1024;
/** Shorter than the usual scrape intervals. */
const CACHE_MILLISECONDS = 5000;
/** The shortest time between the starts of two scrapes, even if the first is aborted. */
const MIN_INTERVAL_MILLISECONDS = 1000;
/** Requests poll for the result of a scrape: in workerd, one request must not wake another. */
const POLL_MILLISECONDS = 20;

export class MetricsScraper {
  readonly #origins: readonly Origin[];
  #cached = { text: "", until: 0 };
  /** The time at which the current scrape ends at the latest. If its client disconnects, workerd may never finish it. */
  #busyUntil = 0;

  constructor(origins: readonly Origin[]) {
    this.#origins = origins;
  }

  /**
   * One exposition of all backends, at most `CACHE_MILLISECONDS` old.
   *
   * @param clientGone aborted when the client disconnects: then another waiting request scrapes instead.
   */
  async metrics(clientGone: AbortSignal): Promise<string> {
    // Bounded: a scrape ends with a result, or its time is up and another request takes over.
    while (Date.now() >= this.#cached.until) {
      if (Date.now() >= this.#busyUntil) return this.#scrapeAlone(clientGone);
      await scheduler.wait(POLL_MILLISECONDS);
    }
    return this.#cached.text;
  }

  async #scrapeAlone(clientGone: AbortSignal): Promise<string> {
    const startedAt = Date.now();
    const busyUntil = startedAt + SCRAPE_TIMEOUT_MILLISECONDS + POLL_MILLISECONDS;
    this.#busyUntil = busyUntil;
    clientGone.addEventListener("abort", () => {
      // Not at once: otherwise clients that disconnect one after another would each cause a scrape.
      if (this.#busyUntil === busyUntil) this.#busyUntil = startedAt + MIN_INTERVAL_MILLISECONDS;
    });
    const origins = await Promise.all(
      this.#origins.map(async (origin) => ({ origin: origin.name, text: await scrape(origin) })),
    );
    const text = mergeMetrics(origins);
    this.#cached = { text, until: Date.now() + CACHE_MILLISECONDS };
    this.#busyUntil = 0;
    return text;
  }
}

/** The metrics of one backend; null when the scrape failed. */
async function scrape(origin: Origin): Promise<OriginMetrics["text"]> {
  const deadline = Date.now() + SCRAPE_TIMEOUT_MILLISECONDS;
  try {
    const signal = AbortSignal.timeout(SCRAPE_TIMEOUT_MILLISECONDS);
    const response = await origin.fetch("/metrics", { signal, redirect: "manual" });
    const text = response.body === null ? "" : await readText(response.body, deadline);
    return response.ok ? text : null;
  } catch {
    return null;
  }
}

/** The text of a body; null if it is longer than `MAX_METRICS_BYTES` or late. The rest is then not read. */
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
