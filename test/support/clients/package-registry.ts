/** A registry of Typst packages on the loopback interface, with real archives made by the tests. */
import { createServer, type ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { packTar, type TarEntry } from "modern-tar";
import { onTestFinished } from "vitest";
import { parsePackageSpec } from "../../../rules/package-spec.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export type PackageRegistry = Awaited<ReturnType<typeof startPackageRegistry>>;

/** Starts a registry that is stopped when the running test has finished. */
export async function startPackageRegistry() {
  const answers = new Map<string, Uint8Array | ((response: ServerResponse) => void)>();
  /** The paths that were asked for. */
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const answer = answers.get(path);
    if (answer === undefined) response.writeHead(404).end();
    else if (typeof answer === "function") answer(response);
    else response.writeHead(200, { "Content-Type": "application/gzip" }).end(answer);
  });
  const url = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  return {
    url,
    requests,
    /** Publishes an archive, or an answer of another kind, for `@preview/name:1.2.3`. */
    publish: (spec: string, answer: Uint8Array | ((response: ServerResponse) => void)) => {
      const { namespace, name, version } = parsePackageSpec(spec) ?? {};
      answers.set(`/${namespace}/${name}-${version}.tar.gz`, answer);
    },
  };
}

/** A manifest of a package. */
export function packageManifest(spec: string, more = ""): string {
  const { name, version } = parsePackageSpec(spec) ?? {};
  return `[package]\nname = "${name}"\nversion = "${version}"\nentrypoint = "lib.typ"\n${more}`;
}

/** The archive of a package: its files with a manifest, unless they have one. */
export function packageArchive(spec: string, files: Readonly<Record<string, string>>): Promise<Buffer> {
  const all = { "typst.toml": packageManifest(spec), ...files };
  return archiveOf(Object.entries(all).map(([name, text]) => fileEntry(name, text)));
}

export function fileEntry(name: string, body: string | Uint8Array = ""): TarEntry {
  return { header: { name, size: Buffer.byteLength(body), type: "file" }, body };
}

/** A compressed archive of these entries, whatever they are. */
export async function archiveOf(entries: readonly TarEntry[]): Promise<Buffer> {
  return gzipSync(await packTar(entries));
}
