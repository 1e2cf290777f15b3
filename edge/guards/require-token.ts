/**
 * Authentication of the caller, before a byte of the body is read.
 */
import { createMiddleware } from "hono/factory";
import { authenticateCaller } from "../../protocol/authentication.ts";
import { API_TOKEN_HEADER } from "../../protocol/headers.ts";
import { type EdgeBindings, settingsOf } from "../context.ts";
import { problemResponse } from "../problem-response.ts";

export const requireToken = createMiddleware<EdgeBindings>(async (context, next) => {
  const authentication = authenticateCaller(context.req.header(API_TOKEN_HEADER), settingsOf(context).apiTokens);
  if (!authentication.ok) return problemResponse(context, authentication.problem);
  context.set("caller", authentication.caller);
  return next();
});
