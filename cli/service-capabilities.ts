/**
 * What a service has installed, by its `/capabilities.json`. It is kept in the user's cache, and the service is asked by its
 * entity tag whether it is still valid.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheFolder } from "../machine/cache-folder.mjs";
import {
  CAPABILITIES_PATH,
  type Capabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../protocol/capabilities.ts";
import { writeWhole } from "./output-file.ts";

/** The edge answers within five seconds; the rest is for slow lines and busy machines. */
const TIMEOUT_MILLISECONDS = 30_000;

/**
 * The capabilities; null if the service does not say them: it may be of an older version, or cannot be reached. Whoever sends it
 * a request learns why. Null too when the signal is aborted.
 *
 * @param url of the service
 */
export async function serviceCapabilities(url: string, signal: AbortSignal): Promise<Capabilities | null> {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
  const path = join(cacheFolder(), "capabilities", `${name}.json`);
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
    const text = await readText(response);
    const capabilities = text === null ? null : parseCapabilities(text);
    const newEtag = response.headers.get("ETag");
    // A cache that cannot be written only costs a transfer each time.
    if (capabilities !== null && newEtag !== null) {
      await writeWhole(path, Buffer.from(`${newEtag}\n${text}`)).catch(() => {});
    }
    return capabilities;
  } catch {
    return null;
  }
}

/** Null if it is no document, or too large for one. */
async function readText(response: Response): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (response.status === 200 && response.body !== null) {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      size += chunk.length;
      // Leaving the loop ends the transfer.
      if (size > MAX_CAPABILITIES_BYTES) return null;
    }
    return Buffer.concat(chunks).toString("utf8");
  }
  await response.body?.cancel();
  return null;
}
