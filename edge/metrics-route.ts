/**
 * `GET /metrics` at the edge: every backend's metrics in one scrape, told apart by an `origin` label.
 *
 * A backend that is down never fails the scrape: it shows as `service_origin_up 0`.
 */
import { deploymentOf, type EdgeContext } from "./context.ts";

export async function answerMetrics(context: EdgeContext): Promise<Response> {
  const text = await deploymentOf(context).metricsScraper.metrics(context.req.raw.signal);
  return new Response(text, {
    headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" },
  });
}
