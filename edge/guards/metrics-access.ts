/** What `SERVICE_METRICS_ACCESS` decides: who may read `/metrics`, and whether it is among the paths that are served. */
import { createMiddleware } from "hono/factory";
import { validateToken } from "../../protocol/authentication.ts";
import { ALL_EDGE_ROUTES, allowedMethods, METRICS_PATH } from "../../protocol/routes.ts";
import { type EdgeBindings, type EdgeContext, settingsOf } from "../context.ts";
import { problemResponse } from "../problem-response.ts";

/** As Prometheus sends it: RFC 6750 section 2.1; the name of the scheme in any case (RFC 9110 section 11.1). */
const BEARER_CREDENTIALS = /^Bearer +(\S+)$/i;

export const requireMetricsAccess = createMiddleware<EdgeBindings>(async (context, next) => {
  const access = settingsOf(context).metricsAccess;
  switch (access.kind) {
    case "open":
      return next();
    case "off":
      return context.notFound();
    case "token": {
      const [, token] = BEARER_CREDENTIALS.exec(context.req.header("Authorization") ?? "") ?? [];
      const forbidden = validateToken(token, access.tokens, "Authorization: Bearer");
      return forbidden === null ? next() : problemResponse(context, forbidden);
    }
  }
});

const ROUTES_WITHOUT_METRICS = ALL_EDGE_ROUTES.filter(({ path }) => path !== METRICS_PATH);

/** The methods of the requested path as `Allow` lists them; null if the path is not served. */
export function servedMethods(context: EdgeContext): string | null {
  const hasMetrics = settingsOf(context).metricsAccess.kind !== "off";
  return allowedMethods(hasMetrics ? ALL_EDGE_ROUTES : ROUTES_WITHOUT_METRICS, context.req.path);
}
