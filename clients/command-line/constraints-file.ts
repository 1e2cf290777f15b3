/**
 * Keeps the constraints of each service in the user's cache, so that a request can be checked without fetching them
 * again. They are revalidated by their entity tag.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import type { ConstraintsStore, StoredConstraints } from "../typescript/client.ts";
import { writeWhole } from "./output-file.ts";

/** @param url of the service: each has constraints of its own */
export function constraintsFile(url: string): ConstraintsStore {
  const path = cachedFile("constraints", url);
  return {
    load: async () => asStored(await readFile(path, "utf8").catch(() => "null")),
    // Without a writable cache, the constraints are transferred each time.
    save: async (constraints) => {
      await writeWhole(path, Buffer.from(JSON.stringify(constraints))).catch(() => {});
    },
  };
}

/** Where the user's cache keeps what a service has answered. */
export function cachedFile(kind: "constraints" | "capabilities", url: string): string {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
  return join(cacheFolder(), kind, `${name}.json`);
}

function asStored(text: string): StoredConstraints | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || !("etag" in value) || !("document" in value)) return null;
    return typeof value.etag === "string" ? { etag: value.etag, document: value.document } : null;
  } catch {
    return null;
  }
}
