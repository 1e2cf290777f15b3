/**
 * What a service has installed, according to its `/capabilities.json`. The answer is kept in the user's cache and
 * revalidated by its entity tag.
 */
import { readFile } from "node:fs/promises";
import {
  CAPABILITIES_PATH,
  type Capabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../../protocol/capabilities.ts";
import { readText } from "../typescript/transport.ts";
import { cachedFile } from "./constraints-file.ts";
import { writeWhole } from "./output-file.ts";

/** The edge waits at most five seconds for its backends; the rest is for slow lines and busy machines. */
const TIMEOUT_MILLISECONDS = 30_000;

/**
 * The capabilities; null if there are none: the service may be of an older version or unreachable, or the signal is
 * aborted. The request that follows reports the reason.
 *
 * @param url of the service
 */
export async function serviceCapabilities(url: string, signal: AbortSignal): Promise<Capabilities | null> {
  const path = cachedFile("capabilities", url);
  const stored = await readFile(path, "utf8").catch(() => "");
  const [etag = ""] = stored.split("\n", 1);
  const kept = parseCapabilities(stored.slice(etag.length + 1));
  try {
    const response = await fetch(new URL(`.${CAPABILITIES_PATH}`, url.endsWith("/") ? url : `${url}/`), {
      headers: kept === null ? {} : { "If-None-Match": etag },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MILLISECONDS)]),
    });
    if (response.status === 304) return kept;
    const text = response.status === 200 ? await readText(response, MAX_CAPABILITIES_BYTES) : null;
    if (response.status !== 200) await response.body?.cancel();
    const capabilities = text === null ? null : parseCapabilities(text);
    const newEtag = response.headers.get("ETag");
    // Without a writable cache, the capabilities are transferred each time.
    if (capabilities !== null && newEtag !== null) {
      await writeWhole(path, Buffer.from(`${newEtag}\n${text}`)).catch(() => {});
    }
    return capabilities;
  } catch {
    return null;
  }
}
