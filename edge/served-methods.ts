/**
 * Which methods a path takes in this deployment: the routes, without those that a setting switches off.
 */
import {
  allowedMethods,
  EDGE_ROUTES,
  METRICS_PATH,
  PLAYGROUND_ROUTES,
  REFERENCE_ROUTES,
  STATIC_ROUTES,
} from "../rules/http/routes.ts";
import { type EdgeContext, settingsOf } from "./context.ts";

const ROUTES = [...EDGE_ROUTES, ...STATIC_ROUTES, ...PLAYGROUND_ROUTES, ...REFERENCE_ROUTES];
const ROUTES_WITHOUT_METRICS = ROUTES.filter(({ path }) => path !== METRICS_PATH);

/** The methods of the requested path as `Allow` lists them; null where nothing is served. */
export function servedMethods(context: EdgeContext): string | null {
  const hasMetrics = settingsOf(context).metricsAccess.kind !== "off";
  return allowedMethods(hasMetrics ? ROUTES : ROUTES_WITHOUT_METRICS, context.req.path);
}
