/**
 * The token check in front of the protected routes: before a byte of a body is read.
 */
import { createMiddleware } from "hono/factory";
import { API_TOKEN_HEADER, judgeToken } from "../rules/token.ts";
import { type EdgeBindings, settingsOf } from "./context.ts";
import { problemResponse } from "./problem-response.ts";

export const requireToken = createMiddleware<EdgeBindings>(async (context, next) => {
  const refusal = judgeToken(context.req.header(API_TOKEN_HEADER), settingsOf(context).apiTokens);
  if (refusal !== null) return problemResponse(context, refusal);
  return next();
});
