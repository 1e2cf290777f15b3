/**
 * The token check in front of the protected routes: before a byte of a body is read.
 */
import { createMiddleware } from "hono/factory";
import { API_TOKEN_HEADER, identifyCaller } from "../rules/http/tokens.ts";
import { type EdgeBindings, settingsOf } from "./context.ts";
import { problemResponse } from "./problem-response.ts";

export const requireToken = createMiddleware<EdgeBindings>(async (context, next) => {
  const validation = identifyCaller(context.req.header(API_TOKEN_HEADER), settingsOf(context).apiTokens);
  if (!validation.ok) return problemResponse(context, validation.problem);
  context.set("caller", validation.caller);
  return next();
});
