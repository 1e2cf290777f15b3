/** Downloads the archives of packages from a registry, which has them below /NAMESPACE/NAME-VERSION.tar.gz. */
import { formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { VendoringError } from "../vendoring/folder-change.ts";
import type { ArchiveLimits } from "./archive.ts";

/** The registry that Typst itself uses. */
export const TYPST_REGISTRY = "https://packages.typst.org";

const DOWNLOAD_TIMEOUT_MILLISECONDS = 120_000;
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * The address of a registry.
 *
 * @throws VendoringError unless it is https, or http on this machine: nothing else proves who sends the first
 *   archive, whose checksum is then trusted.
 */
export function parseRegistry(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPrivate = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK_HOSTS.has(url.hostname));
  if (url === null || !isPrivate) throw new VendoringError(`The registry must be an https URL, not ${text}.`);
  return url;
}

/**
 * The archive of a package.
 *
 * @throws VendoringError if the registry does not have it, or not within the limits.
 */
export async function downloadArchive(
  registry: URL,
  spec: PackageSpec,
  { maxArchiveBytes }: ArchiveLimits,
): Promise<Uint8Array> {
  const text = formatPackageSpec(spec);
  const url = new URL(registry);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${spec.namespace}/${spec.name}-${spec.version}.tar.gz`;
  try {
    const response = await fetch(url, {
      // A redirect could lead to http. The registry of Typst sends none.
      redirect: "error",
      // The checksum is that of the archive as it is stored.
      headers: { "Accept-Encoding": "identity" },
      signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MILLISECONDS),
    });
    if (response.status === 404) throw new VendoringError(`${text} is not in the registry ${registry.host}.`);
    if (response.status !== 200) throw new VendoringError(`${text}: the registry answered ${response.status}.`);
    return await readBounded(response, text, maxArchiveBytes);
  } catch (error) {
    if (error instanceof VendoringError) throw error;
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new VendoringError(`${text} cannot be downloaded from ${registry.host}: ${reason}`);
  }
}

async function readBounded(response: Response, text: string, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the rest of the download.
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new VendoringError(`${text} is refused: the archive has over ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
