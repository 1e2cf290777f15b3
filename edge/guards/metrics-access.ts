/** Who may read `/metrics`, as `SERVICE_METRICS_ACCESS` says. */
import { createMiddleware } from "hono/factory";
import { validateToken } from "../../protocol/authentication.ts";
import { type EdgeBindings, settingsOf } from "../context.ts";
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
