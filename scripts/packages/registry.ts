/** Downloads the archives of packages from a registry, which has them below /NAMESPACE/NAME-VERSION.tar.gz. */
import { formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { download } from "../set-up/download.mjs";
import { VendoringError } from "../vendoring/folder-change.ts";

export const TYPST_REGISTRY = "https://packages.typst.org";

const TIMEOUTS = { answerMilliseconds: 30_000, downloadMilliseconds: 120_000 };
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** @throws VendoringError unless it is https or this machine: by http anyone on the way could choose what is locked */
export function parseRegistry(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPrivate = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK_HOSTS.has(url.hostname));
  if (url === null || !isPrivate) throw new VendoringError(`The registry must be an https URL, not ${text}.`);
  return url;
}

/** The archive of a package. @throws VendoringError if the registry does not have it, or not within the limits */
export async function downloadArchive(registry: URL, spec: PackageSpec, maxBytes: number): Promise<Uint8Array> {
  const url = new URL(registry);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${spec.namespace}/${spec.name}-${spec.version}.tar.gz`;
  const answer = await download(
    url,
    { ...TIMEOUTS, maxBytes },
    // A redirect could lead to http. The checksum is that of the archive as it is stored.
    { redirect: "error", headers: { "Accept-Encoding": "identity" } },
  );
  if ("content" in answer) return answer.content;
  const text = formatPackageSpec(spec);
  if (answer.reason === "HTTP 404") throw new VendoringError(`${text} is not in the registry ${registry.host}.`);
  throw new VendoringError(`${text} cannot be downloaded from ${registry.host}: ${answer.reason}`);
}
