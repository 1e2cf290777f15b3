/** Which methods a path takes in this deployment, for `Allow`, OPTIONS and preflight requests. */
import { ALL_EDGE_ROUTES, allowedMethods, METRICS_PATH } from "../../protocol/routes.ts";
import { type EdgeContext, settingsOf } from "../context.ts";

const ROUTES_WITHOUT_METRICS = ALL_EDGE_ROUTES.filter(({ path }) => path !== METRICS_PATH);

/** The methods of the requested path as `Allow` lists them; null if the path is not served. */
export function servedMethods(context: EdgeContext): string | null {
  const hasMetrics = settingsOf(context).metricsAccess.kind !== "off";
  return allowedMethods(hasMetrics ? ALL_EDGE_ROUTES : ROUTES_WITHOUT_METRICS, context.req.path);
}
