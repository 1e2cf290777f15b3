/**
 * W3C Trace Context (https://www.w3.org/TR/trace-context/). Anything malformed counts as absent, so it never reaches a
 * log line or a backend.
 */

export const TRACEPARENT_HEADER = "traceparent";
export const TRACESTATE_HEADER = "tracestate";

/** Trace Context section 3.3.1.5: at least this much of a `tracestate` should be passed on. More is never passed on. */
export const MAX_TRACESTATE_LENGTH = 512;

export interface TraceParent {
  readonly traceId: string;
  readonly parentId: string;
  readonly isSampled: boolean;
}

/** Version, trace id, parent id, flags; later versions may append fields after another hyphen. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_LENGTH = 128;
const ALL_ZERO = /^0+$/;
const SAMPLED_FLAG = 1;

/** One member of a `tracestate` (section 3.3.1): a key, of one vendor or of one of its tenants, and a value. */
const TRACESTATE_MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;
const MAX_TRACESTATE_MEMBERS = 32;

export function parseTraceparent(text: string | null | undefined): TraceParent | null {
  if (text === null || text === undefined || text.length > MAX_TRACEPARENT_LENGTH) return null;
  const [, version = "", traceId = "", parentId = "", flags = "", more] = TRACEPARENT.exec(text) ?? [];
  if (version === "" || version === "ff" || (version === "00" && more !== undefined)) return null;
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(parentId)) return null;
  return { traceId, parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED_FLAG) !== 0 };
}

export function formatTraceparent({ traceId, parentId, isSampled }: TraceParent): string {
  return `00-${traceId}-${parentId}-${isSampled ? "01" : "00"}`;
}

/** As many members, from the left, as fit into `MAX_TRACESTATE_LENGTH`; null if it is absent, empty or malformed. */
export function shortenTracestate(text: string | null | undefined): string | null {
  // Far more than is passed on. A longer field is not even parsed.
  if (text === null || text === undefined || text.length > 16 * MAX_TRACESTATE_LENGTH) return null;
  const members = text
    .split(",")
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ""))
    .filter((member) => member !== "");
  if (members.length === 0 || members.length > MAX_TRACESTATE_MEMBERS) return null;
  if (!members.every((member) => TRACESTATE_MEMBER.test(member))) return null;
  let passed = "";
  for (const member of members) {
    const longer = passed === "" ? member : `${passed},${member}`;
    if (longer.length > MAX_TRACESTATE_LENGTH) break;
    passed = longer;
  }
  return passed === "" ? null : passed;
}

/** The caller's, or made from the request id, a UUID: edge and backend make the same one without sending it. */
export function traceIdOf(parent: TraceParent | null, requestId: string): string {
  return parent?.traceId ?? requestId.replaceAll("-", "");
}
