/**
 * `GET /metrics` at the edge: every backend's metrics in one scrape, told apart by an `origin` label.
 *
 * A backend that is down never fails the scrape: it shows as `service_origin_up 0`.
 */
import { type EdgeContext, settingsOf } from "./context.ts";
import { mergeMetrics, type OriginMetrics } from "./prometheus-text.ts";

const SCRAPE_TIMEOUT_MILLISECONDS = 5000;
/** Far more than a backend's metrics have; an answer beyond it is not one of ours. */
const MAX_METRICS_BYTES = 1024 * 1024;

export async function answerMetrics(context: EdgeContext): Promise<Response> {
  const { backendUrls } = settingsOf(context);
  const origins = await Promise.all(backendUrls.map(scrape));
  return new Response(mergeMetrics(origins), {
    headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" },
  });
}

async function scrape(url: URL): Promise<OriginMetrics> {
  const origin = url.host;
  try {
    const answer = await fetch(new URL("/metrics", url), { signal: AbortSignal.timeout(SCRAPE_TIMEOUT_MILLISECONDS) });
    const isUsable = answer.ok && Number(answer.headers.get("Content-Length") ?? 0) <= MAX_METRICS_BYTES;
    if (isUsable) return { origin, text: await answer.text() };
    await answer.body?.cancel();
    return { origin, text: null };
  } catch {
    return { origin, text: null };
  }
}
