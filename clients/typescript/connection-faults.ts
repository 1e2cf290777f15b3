/** What an error of a connection means, by the codes of Node, its `fetch` and OpenSSL: one table for the client and the doctor. */

/** Why no answer came. Browsers do not tell a page, so there it is `unknown`. */
export type UnreachableReason =
  | "refused"
  | "name_not_found"
  | "no_route"
  | "certificate"
  | "wrong_protocol"
  | "timed_out"
  | "no_answer"
  | "connection_broken"
  | "gateway"
  | "unknown";

export interface ConnectionFault {
  /** By which the doctor knows it. */
  readonly id: ConnectionFaultId;
  readonly reason: UnreachableReason;
  readonly words: string;
  /** Whether another attempt would meet the same. */
  readonly isPermanent: boolean;
}

const [PASSING, PERMANENT] = [false, true];
const NO_NAME = "the host name was not found";
const NOT_ACCEPTED = "its certificate is not accepted";

/** The first row whose code matches counts. */
const ROWS = [
  [/^EAI_AGAIN$/, "no-resolver", "name_not_found", NO_NAME, PASSING],
  [/^(?:ENOTFOUND$|EAI_)/, "unknown-name", "name_not_found", NO_NAME, PERMANENT],
  [/^ECONNREFUSED$/, "refused", "refused", "the connection was refused", PASSING],
  [/^E(?:(?:HOST|NET)(?:UNREACH|DOWN)|ADDRNOTAVAIL)$/, "unreachable", "no_route", "there is no route to it", PASSING],
  [/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/, "expired", "certificate", NOT_ACCEPTED, PERMANENT],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "wrong-name", "certificate", NOT_ACCEPTED, PERMANENT],
  [/^(?:CERT_|DEPTH_|SELF_|UNABLE_)/, "unknown-issuer", "certificate", NOT_ACCEPTED, PERMANENT],
  // Of some answers that are not HTTP, the error of `fetch` has no code, but a name.
  [
    /^(?:EPROTO$|ERR_SSL_|ERR_TLS_|HPE_|HTTPParserError$)/,
    "wrong-protocol",
    "wrong_protocol",
    "it does not speak the protocol of the URL",
    PERMANENT,
  ],
  [/^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/, "timed-out", "no_answer", "it took the request, and did not answer", PASSING],
  [/TIMEOUT|^ETIMEDOUT$/, "timed-out", "timed_out", "it did not answer in time", PASSING],
  [/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, "connection-failed", "connection_broken", "the connection broke", PASSING],
] as const satisfies readonly (readonly [RegExp, string, UnreachableReason, string, boolean])[];
const UNKNOWN = [/^/, "connection-failed", "unknown", "no answer came, or the connection broke", PASSING] as const;

export type ConnectionFaultId = (typeof ROWS)[number][1];

/** @param code of the error; if it has none, its name, or nothing */
export function connectionFaultOf(code: string): ConnectionFault {
  const [, id, reason, words, isPermanent] = ROWS.find(([pattern]) => pattern.test(code)) ?? UNKNOWN;
  return { id, reason, words, isPermanent };
}
