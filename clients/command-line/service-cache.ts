/** What a service publishes, kept in the user's cache and revalidated by entity tag: constraints and capabilities. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Capabilities, parseCapabilities } from "../../protocol/capabilities.ts";
import { constraintsDocument } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { asConstraints, type PublishedConstraints } from "../../rules/published-rules.ts";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import { fetchCapabilities } from "../typescript/capabilities.ts";
import type { ConstraintsStore, StoredConstraints } from "../typescript/client.ts";
import { parseJson } from "../typescript/transport.ts";
import { writeWhole } from "./output-file.ts";
import { useProxy } from "./proxy.ts";

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
  useProxy(url);
  const path = cachedFile("capabilities", url);
  const { etag, capabilities: kept } = await readStored(path);
  const published = await fetchCapabilities(url, kept === null ? null : etag, signal);
  if (published === "unchanged" || published === null) return published && kept;
  if (published.etag !== null) await keep(path, `${published.etag}\n${published.text}`);
  return published.capabilities;
}

function cachedFile(kind: "constraints" | "capabilities", url: string): string {
  return join(cacheFolder(), kind, `${encodeURIComponent(url)}.json`);
}

/** Without a writable cache, it is transferred each time. */
async function keep(path: string, text: string): Promise<void> {
  await writeWhole(path, Buffer.from(text)).catch(() => {});
}
