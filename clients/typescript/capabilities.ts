/** Reads `/capabilities.json` of a deployment: within a time, up to a size, and once more if the connection breaks. */
import {
  CAPABILITIES_PATH,
  type Capabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../../protocol/capabilities.ts";
import { normaliseUrl, readBytes } from "./transport.ts";

/** The edge waits at most five seconds for its backends; the rest is for slow lines and busy machines. */
const TIMEOUT_MILLISECONDS = 30_000;
const ATTEMPTS = 2;

export interface PublishedCapabilities {
  /** Null if the service sends none. */
  readonly etag: string | null;
  readonly text: string;
  readonly capabilities: Capabilities;
}

/**
 * @param etag of those that are known
 * @returns `unchanged` if these still hold; null if an older or unreachable service says nothing, or the signal is aborted
 */
export async function fetchCapabilities(
  url: string,
  etag: string | null = null,
  signal?: AbortSignal,
): Promise<PublishedCapabilities | "unchanged" | null> {
  const timeout = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
  const within = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  for (let attempt = 1; attempt <= ATTEMPTS && !within.aborted; attempt++) {
    try {
      const response = await fetch(new URL(`.${CAPABILITIES_PATH}`, normaliseUrl(url)), {
        headers: etag === null ? {} : { "If-None-Match": etag },
        redirect: "error",
        signal: within,
      });
      if (response.status === 304) return "unchanged";
      if (response.status !== 200) {
        await response.body?.cancel();
        return null;
      }
      const bytes = await readBytes(response, MAX_CAPABILITIES_BYTES);
      if (bytes === null) return null;
      const text = new TextDecoder().decode(bytes);
      const capabilities = parseCapabilities(text);
      if (capabilities !== null) return { etag: response.headers.get("ETag"), text, capabilities };
    } catch {
      // The connection broke, or could not be made.
    }
  }
  return null;
}
