/** What a service publishes, kept in the user's cache and revalidated by entity tag: constraints and capabilities. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CAPABILITIES_PATH,
  type Capabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../../protocol/capabilities.ts";
import { constraintsDocument } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { asConstraints, type PublishedConstraints } from "../../rules/published-rules.ts";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import type { ConstraintsStore, StoredConstraints } from "../typescript/client.ts";
import { normaliseUrl, parseJson, readText } from "../typescript/transport.ts";
import { writeWhole } from "./output-file.ts";

/** The edge waits at most five seconds for its backends; the rest is for slow lines and busy machines. */
const TIMEOUT_MILLISECONDS = 30_000;

export function constraintsFile(url: string): ConstraintsStore {
  const path = cachedFile("constraints", url);
  return {
    load: async () => parseStored(await readFile(path, "utf8").catch(() => "null")),
    save: (constraints) => keep(path, JSON.stringify(constraints)),
  };
}

function parseStored(text: string): StoredConstraints | null {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || !("etag" in value) || !("document" in value)) return null;
  return typeof value.etag === "string" ? { etag: value.etag, document: value.document } : null;
}

/** What the service said last, without asking it; null if it never did. */
export async function storedCapabilities(url: string): Promise<Capabilities | null> {
  return (await readStored(cachedFile("capabilities", url))).capabilities;
}

async function readStored(path: string) {
  const stored = await readFile(path, "utf8").catch(() => "");
  const [etag = ""] = stored.split("\n", 1);
  return { etag, capabilities: parseCapabilities(stored.slice(etag.length + 1)) };
}

/**
 * What is known without asking: the constraints that the service last published, or else those of a new deployment.
 */
export async function knownConstraints(
  url: string,
): Promise<{ readonly constraints: PublishedConstraints; readonly isPublished: boolean }> {
  const published = asConstraints((await constraintsFile(url).load())?.document);
  const constraints = published ?? asConstraints(constraintsDocument(DEFAULT_LIMITS));
  if (constraints === null) throw new Error("the rules publish no constraints");
  return { constraints, isPublished: published !== null };
}

/** Null if an older or unreachable service has none, or the signal is aborted: the request that follows says why. */
export async function serviceCapabilities(url: string, signal: AbortSignal): Promise<Capabilities | null> {
  const path = cachedFile("capabilities", url);
  const { etag, capabilities: kept } = await readStored(path);
  try {
    const response = await fetch(new URL(`.${CAPABILITIES_PATH}`, normaliseUrl(url)), {
      headers: kept === null ? {} : { "If-None-Match": etag },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MILLISECONDS)]),
    });
    if (response.status === 304) return kept;
    const text = response.status === 200 ? await readText(response, MAX_CAPABILITIES_BYTES) : null;
    if (response.status !== 200) await response.body?.cancel();
    const capabilities = text === null ? null : parseCapabilities(text);
    const newEtag = response.headers.get("ETag");
    if (capabilities !== null && newEtag !== null) await keep(path, `${newEtag}\n${text}`);
    return capabilities;
  } catch {
    return null;
  }
}

function cachedFile(kind: "constraints" | "capabilities", url: string): string {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
  return join(cacheFolder(), kind, `${name}.json`);
}

/** Without a writable cache, it is transferred each time. */
async function keep(path: string, text: string): Promise<void> {
  await writeWhole(path, Buffer.from(text)).catch(() => {});
}
