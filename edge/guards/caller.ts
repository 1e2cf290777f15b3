/** Who calls, before a byte of the body is read: the caller's token, and how often it may call. */
import { createMiddleware } from "hono/factory";
import { authenticateCaller } from "../../protocol/authentication.ts";
import { API_TOKEN_HEADER } from "../../protocol/headers.ts";
import { renderQueueFull } from "../../rules/problem.ts";
import { waitAtMost } from "../clock.ts";
import { type EdgeBindings, settingsOf } from "../context.ts";
import { problemResponse } from "../problem-response.ts";
import { logFailure, watchClient } from "../requests/request-log.ts";

export const requireToken = createMiddleware<EdgeBindings>(async (context, next) => {
  const authentication = authenticateCaller(context.req.header(API_TOKEN_HEADER), settingsOf(context).apiTokens);
  if (!authentication.ok) return problemResponse(context, authentication.problem);
  context.set("caller", authentication.caller);
  return next();
});

/** Cloudflare answers from memory in the same location. An answer that takes longer than this will not come. */
const LIMITER_TIMEOUT_MILLISECONDS = 1000;

/**
 * An optional rate limit per caller by Cloudflare's binding `CALLER_RATE_LIMITER` (docs/operations.md#rate-limit),
 * after `requireToken`. Slots, queue and memory are shared out in any case, so if the binding fails or hangs, requests
 * pass.
 */
export const limitCallerRate = createMiddleware<EdgeBindings>(async (context, next) => {
  const limiter = context.env.CALLER_RATE_LIMITER;
  if (limiter === undefined) return next();
  watchClient(context);
  const outcome = await askInTime(limiter, context.get("caller"));
  if (outcome === "over") {
    return problemResponse(context, renderQueueFull("rate_limit", settingsOf(context).rateLimitPeriodSeconds));
  }
  if (outcome !== "within")
    logFailure(context, "warn", {
      requestId: context.get("requestId"),
      message: "rate limit not applied",
      error: outcome.error,
    });
  return next();
});

async function askInTime(limiter: RateLimit, key: string): Promise<"within" | "over" | { readonly error: string }> {
  try {
    const outcome = await waitAtMost(limiter.limit({ key }), LIMITER_TIMEOUT_MILLISECONDS);
    if (outcome === "late") return { error: `no answer within ${LIMITER_TIMEOUT_MILLISECONDS} ms` };
    return outcome.success ? "within" : "over";
  } catch (error) {
    return { error: String(error) };
  }
}
