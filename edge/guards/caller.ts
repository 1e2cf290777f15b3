/** Who asks, before a byte of the body is read: the token of a caller or of a reader of metrics, and how often a caller may call. */
import { authenticateCaller, validateToken } from "../../protocol/authentication.ts";
import { API_TOKEN_HEADER } from "../../protocol/headers.ts";
import { notFound, renderQueueFull } from "../../rules/problem.ts";
import { waitAtMost } from "../clock.ts";
import { type EdgeContext, settingsOf } from "../context.ts";
import type { Answer, Platform } from "../platform/platform.ts";
import { problemAnswer } from "../problem-answer.ts";
import { logFailure, whenClientLeaves } from "../requests/request-log.ts";

export function requireToken(context: EdgeContext): Answer | null {
  const token = context.request.headers.get(API_TOKEN_HEADER) ?? undefined;
  const authentication = authenticateCaller(token, settingsOf(context).apiTokens);
  if (!authentication.ok) return problemAnswer(context, authentication.problem);
  context.caller = authentication.caller;
  return null;
}

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

/** Cloudflare answers from memory in the same location. An answer that takes longer than this will not come. */
const LIMITER_TIMEOUT_MILLISECONDS = 1000;

type RateLimiter = NonNullable<Platform["rateLimiter"]>;

/**
 * An optional rate limit per caller by Cloudflare's binding `CALLER_RATE_LIMITER` (docs/operations.md#rate-limit),
 * after `requireToken`. Slots, queue and memory are shared out in any case, so if the binding fails or hangs, requests
 * pass.
 */
export async function limitCallerRate(context: EdgeContext): Promise<Answer | null> {
  const { rateLimiter } = context.platform;
  if (rateLimiter === null) return null;
  whenClientLeaves(context, () => {});
  const outcome = await askInTime(rateLimiter, context.caller ?? "");
  if (outcome === "over") {
    return problemAnswer(context, renderQueueFull("rate_limit", settingsOf(context).rateLimitPeriodSeconds));
  }
  if (outcome !== "within")
    logFailure(context, "warn", {
      message: "rate limit not applied",
      error: outcome.error,
    });
  return null;
}

async function askInTime(limiter: RateLimiter, key: string): Promise<"within" | "over" | { readonly error: string }> {
  try {
    const outcome = await waitAtMost(limiter.limit({ key }), LIMITER_TIMEOUT_MILLISECONDS);
    if (outcome === "late") return { error: `no answer within ${LIMITER_TIMEOUT_MILLISECONDS} ms` };
    return outcome.success ? "within" : "over";
  } catch (error) {
    return { error: String(error) };
  }
}
