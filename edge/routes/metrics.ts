/**
 * `GET /metrics` at the edge: the metrics of every backend in one exposition, distinguished by the label `origin`.
 *
 * A backend that is down does not fail the scrape: it shows as `service_origin_up 0`.
 */
import { deploymentOf, type EdgeContext } from "../context.ts";
import { loggedClientSignal } from "../log/request-log.ts";

export async function answerMetrics(context: EdgeContext): Promise<Response> {
  const text = await deploymentOf(context).metricsScraper.metrics(() => loggedClientSignal(context));
  return new Response(text, {
    headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" },
  });
}
