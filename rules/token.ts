/**
 * API tokens: reading a set of them from a setting, and comparing one in constant time.
 */
import { SettingError } from "./integer-setting.ts";
import { type Problem, problem, serviceUnavailable } from "./problem.ts";

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

/**
 * Judges the token of a request.
 *
 * @returns null when it is one of `tokens`; `forbidden` when it is not; `service_unavailable` when none is configured,
 *   because a service without tokens must never be an open one.
 */
export function judgeToken(candidate: string | null | undefined, tokens: readonly string[]): Problem | null {
  if (tokens.length === 0) return serviceUnavailable();
  let matches = 0;
  // Every token is compared to its end, whatever was found before: the time tells nothing about any of them.
  for (const token of tokens) matches |= equalInConstantTime(candidate ?? "", token);
  return matches === 1 ? null : problem("forbidden", `A valid token is required in ${API_TOKEN_HEADER}.`, {});
}

/** 1 or 0, in a time that depends on the candidate's length alone. */
function equalInConstantTime(candidate: string, token: string): 0 | 1 {
  let difference = candidate.length ^ token.length;
  for (let index = 0; index < candidate.length; index++) {
    difference |= candidate.charCodeAt(index) ^ token.charCodeAt(index % token.length);
  }
  return difference === 0 ? 1 : 0;
}
