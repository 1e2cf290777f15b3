/** Who may read `/metrics`, as `SERVICE_METRICS_ACCESS` says. */
import { validateToken } from "../../protocol/authentication.ts";
import { notFound } from "../../rules/problem.ts";
import { type EdgeContext, settingsOf } from "../context.ts";
import type { Answer } from "../platform/platform.ts";
import { problemAnswer } from "../problem-answer.ts";

/** As Prometheus sends it: RFC 6750 section 2.1; the name of the scheme in any case (RFC 9110 section 11.1). */
const BEARER_CREDENTIALS = /^Bearer +(\S+)$/i;

export function requireMetricsAccess(context: EdgeContext): Answer | null {
  const access = settingsOf(context).metricsAccess;
  switch (access.kind) {
    case "open":
      return null;
    case "off":
      return problemAnswer(context, notFound());
    case "token": {
      const [, token] = BEARER_CREDENTIALS.exec(context.request.headers.get("Authorization") ?? "") ?? [];
      const forbidden = validateToken(token, access.tokens, "Authorization: Bearer");
      return forbidden === null ? null : problemAnswer(context, forbidden);
    }
  }
}
