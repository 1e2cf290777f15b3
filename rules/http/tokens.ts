/**
 * API tokens: reading a set of them from a setting, and comparing one in constant time.
 */

import { type Problem, problem, serviceUnavailable } from "../problem.ts";
import { SettingError } from "../settings.ts";
import { CALLER_NAME_PATTERN } from "./headers.ts";

/** The request header that carries a caller's token. */
export const API_TOKEN_HEADER = "X-Service-Api-Token";
/** The header by which the edge shows itself to the backend. Never accepted from, nor sent to, a caller. */
export const BACKEND_TOKEN_HEADER = "X-Service-Backend-Token";

/** Tokens from a setting: separated by commas or blanks, so that two are valid while one is being rotated. */
export function parseTokens(setting: string, text: string | undefined): readonly string[] {
  const tokens = (text ?? "").split(/[\s,]+/).filter((token) => token !== "");
  if (!tokens.every((token) => /^[!-~]+$/.test(token))) {
    throw new SettingError(`${setting} must hold visible ASCII characters, several tokens separated by commas.`);
  }
  return tokens;
}

/** A token and the name of the caller that it stands for: not secret, in headers and metrics. */
export interface NamedToken {
  readonly name: string;
  readonly token: string;
}

/**
 * Tokens with names from a setting of `name:token` and bare tokens. Tokens may share a name, so that one can be rotated;
 * a bare one is named by its place in the setting: `caller-1` and so on.
 *
 * @throws SettingError where a name or a token cannot be used; it quotes neither.
 */
export function parseNamedTokens(setting: string, text: string | undefined): readonly NamedToken[] {
  return parseTokens(setting, text).map((entry, index) => {
    const colon = entry.indexOf(":");
    const [name, token] = colon < 0 ? [`caller-${index + 1}`, entry] : [entry.slice(0, colon), entry.slice(colon + 1)];
    if (CALLER_NAME_PATTERN.test(name) && token !== "") return { name, token };
    throw new SettingError(
      `${setting} must hold tokens or name:token, a name of 1 to 64 letters, digits, ".", "_" and "-" that begins with a letter or digit; entry ${index + 1} is neither.`,
    );
  });
}

/** Who sends a request, or why nobody may. */
export type CallerResult =
  | { readonly ok: true; readonly caller: string }
  | { readonly ok: false; readonly problem: Problem };

/** Validates the token of a request as `validateToken` does, and names its caller. */
export function identifyCaller(candidate: string | null | undefined, tokens: readonly NamedToken[]): CallerResult {
  const values = tokens.map(({ token }) => token);
  const caller = tokens[positionOf(candidate ?? "", values) - 1]?.name;
  if (caller !== undefined) return { ok: true, caller };
  return { ok: false, problem: refusal(values) };
}

/**
 * Validates the token of a request.
 *
 * @returns null when it is one of `tokens`; `forbidden` when it is not; `service_unavailable` when none is configured,
 *   because a service without tokens must never be an open one.
 */
export function validateToken(candidate: string | null | undefined, tokens: readonly string[]): Problem | null {
  return positionOf(candidate ?? "", tokens) > 0 ? null : refusal(tokens);
}

function refusal(tokens: readonly string[]): Problem {
  if (tokens.length === 0) return serviceUnavailable();
  return problem("forbidden", `A valid token is required in ${API_TOKEN_HEADER}.`, {});
}

/**
 * The place of the first token that is the candidate, counted from 1; 0 where there is none. Every token is compared to
 * its end, whatever was found before: the time tells nothing about any of them.
 */
function positionOf(candidate: string, tokens: readonly string[]): number {
  let position = 0;
  tokens.forEach((token, index) => {
    const isNew = equalInConstantTime(candidate, token) & (position === 0 ? 1 : 0);
    position += isNew * (index + 1);
  });
  return position;
}

/** 1 or 0, in a time that depends on the candidate's length alone. */
function equalInConstantTime(candidate: string, token: string): 0 | 1 {
  let difference = candidate.length ^ token.length;
  for (let index = 0; index < candidate.length; index++) {
    difference |= candidate.charCodeAt(index) ^ token.charCodeAt(index % token.length);
  }
  return difference === 0 ? 1 : 0;
}
