/** Authentication by tokens: reading them from a setting, and comparing a candidate with them in constant time. */
import { type Problem, problem, serviceUnavailable } from "../rules/problem.ts";
import { listEntries, SettingError } from "../rules/settings.ts";
import { API_TOKEN_HEADER, CALLER_NAME_PATTERN, PROBE_CALLER } from "./headers.ts";

/** Tokens separated by commas or spaces. @throws SettingError when one is not visible ASCII; it quotes no token */
export function parseTokens(setting: string, text: string | undefined): readonly string[] {
  const tokens = listEntries(text);
  if (!tokens.every((token) => /^[!-~]+$/.test(token))) {
    throw new SettingError(`${setting} must hold visible ASCII characters, several tokens separated by commas.`);
  }
  return tokens;
}

export interface NamedToken {
  /** The caller's name. It is not secret: headers and metrics show it. */
  readonly name: string;
  readonly token: string;
}

/**
 * `name:token`, or tokens that are named by their position: `caller-1` and so on. Several may have one name, so that a
 * caller's token can be replaced. @throws SettingError when a name or a token is not valid; it quotes neither
 */
export function parseNamedTokens(setting: string, text: string | undefined): readonly NamedToken[] {
  return parseTokens(setting, text).map((entry, index) => {
    const colon = entry.indexOf(":");
    const [name, token] = colon < 0 ? [`caller-${index + 1}`, entry] : [entry.slice(0, colon), entry.slice(colon + 1)];
    if (CALLER_NAME_PATTERN.test(name) && name !== PROBE_CALLER && token !== "") return { name, token };
    throw new SettingError(
      `${setting} must hold tokens or name:token, a name of 1 to 64 letters, digits, ".", "_" and "-" that begins with a letter or digit and is not ${PROBE_CALLER}; entry ${index + 1} is neither.`,
    );
  });
}

export type Authentication =
  | { readonly ok: true; readonly caller: string }
  | { readonly ok: false; readonly problem: Problem };

export function authenticateCaller(
  candidate: string | null | undefined,
  tokens: readonly NamedToken[],
): Authentication {
  const values = tokens.map(({ token }) => token);
  const caller = tokens[positionOf(candidate ?? "", values) - 1]?.name;
  if (caller !== undefined) return { ok: true, caller };
  return { ok: false, problem: invalidToken(values, API_TOKEN_HEADER) };
}

/** A service without tokens is not open but unavailable. @param place where the token belongs, for its sender */
export function validateToken(
  candidate: string | null | undefined,
  tokens: readonly string[],
  place: string,
): Problem | null {
  return positionOf(candidate ?? "", tokens) > 0 ? null : invalidToken(tokens, place);
}

function invalidToken(tokens: readonly string[], place: string): Problem {
  if (tokens.length === 0) return serviceUnavailable("no_tokens");
  return problem("forbidden", `A valid token is required in ${place}.`, {});
}

/**
 * From 1; 0 if none equals the candidate, which is compared with every token, so that the time does not tell which. One
 * that is longer than every token is not compared: 60 KB of a header field against 200 tokens took 75 ms.
 */
function positionOf(candidate: string, tokens: readonly string[]): number {
  if (tokens.every(({ length }) => candidate.length > length)) return 0;
  let position = 0;
  tokens.forEach((token, index) => {
    const isFirstMatch = equalInConstantTime(candidate, token) & (position === 0 ? 1 : 0);
    position += isFirstMatch * (index + 1);
  });
  return position;
}

/** 1 or 0, in a time that depends only on the length of the candidate. */
function equalInConstantTime(candidate: string, token: string): 0 | 1 {
  let difference = candidate.length ^ token.length;
  for (let index = 0; index < candidate.length; index++) {
    difference |= candidate.charCodeAt(index) ^ token.charCodeAt(index % token.length);
  }
  return difference === 0 ? 1 : 0;
}
