/**
 * The first step of a render request, before it may take a slot: token, then body, then validation.
 */
import type { FastifyRequest } from "fastify";
import { validateToken } from "../../rules/http/authentication.ts";
import { BACKEND_TOKEN_HEADER } from "../../rules/http/headers.ts";
import { validateMediaType } from "../../rules/http/request-head.ts";
import { type Problem, serviceUnavailable } from "../../rules/problem.ts";
import { parseRenderRequest, type RenderRequest } from "../../rules/render-request.ts";
import type { Reservation } from "../admission/byte-budget.ts";
import { CLIENT_GONE } from "../render/outcome.ts";
import type { BackendSettings } from "../settings.ts";
import { readBody, requestHead } from "./read-body.ts";

export type Reception =
  | { readonly kind: "received"; readonly body: Uint8Array; readonly renderRequest: RenderRequest }
  | Refusal
  | { readonly kind: typeof CLIENT_GONE };

export interface Refusal {
  readonly kind: "refused";
  readonly problem: Problem;
  /** The size of the body where all of it was read. */
  readonly requestBytes?: number;
}

/**
 * Reads and validates a render request.
 *
 * @param memory grows with the body, and has to be held for as long as the body is.
 */
export async function receive(
  request: FastifyRequest,
  settings: BackendSettings,
  isDraining: boolean,
  memory: Reservation,
): Promise<Reception> {
  const token = request.headers[BACKEND_TOKEN_HEADER.toLowerCase()];
  const forbidden = validateToken(typeof token === "string" ? token : null, settings.backendTokens);
  if (forbidden !== null) return { kind: "refused", problem: forbidden };
  if (isDraining) return { kind: "refused", problem: serviceUnavailable() };
  const reading = await readBody(request.raw, settings.limits, memory);
  if (reading.kind === "aborted") return { kind: CLIENT_GONE };
  if (reading.kind === "refused") return reading;
  const { body } = reading;
  const wrongMediaType = validateMediaType(requestHead(request.raw));
  if (wrongMediaType !== null) return { kind: "refused", problem: wrongMediaType };
  const validation = parseRenderRequest(body, settings.limits);
  if (!validation.ok) return { kind: "refused", problem: validation.problem, requestBytes: body.length };
  return { kind: "received", body, renderRequest: validation.request };
}
