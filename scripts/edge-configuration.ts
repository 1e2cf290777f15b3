/**
 * The edge for workerd alone, without Cloudflare: a folder with the bundled Worker, the static files, a configuration and
 * workerd itself. Compatibility date and flags, the entry point and the static files are those of `wrangler.toml`.
 *
 * All settings come from the environment of the process, when it starts: the folder holds none, and no secrets.
 */
import { createHash } from "node:crypto";
import { copyFile, cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AssetDescription } from "../edge/standalone/assets-worker.ts";
import { bundle, wranglerConfig } from "./local-worker.ts";
import { provideStaticAssets } from "./static-assets.ts";

/** The name of the socket, by which `--socket-addr` moves it. */
export const EDGE_SOCKET = "http";
/** Where the edge listens by default. */
export const EDGE_ADDRESS = "*:8787";

const PROJECT = new URL("../", import.meta.url);
const require = createRequire(import.meta.url);
/** The package is CommonJS; its export is the path of the program for this machine's platform. */
const { default: WORKERD }: { readonly default: string } = require("workerd");

/** As Cloudflare's asset server has them. */
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

/**
 * Writes the folder anew.
 *
 * @throws if a static file has an extension without a known content type.
 */
export async function writeEdge(folder: string): Promise<void> {
  const { main, assets, compatibility_date, compatibility_flags } = await wranglerConfig();
  await provideStaticAssets();
  const [edge, assetsWorker] = await Promise.all([bundle(main), bundle("edge/standalone/assets-worker.ts")]);
  const source = fileURLToPath(new URL(assets.directory, PROJECT));
  const files = await describeFiles(source);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const configuration = capnp({
    settings: settingNames(edge),
    assetsBinding: assets.binding,
    files,
    compatibilityDate: compatibility_date,
    compatibilityFlags: compatibility_flags,
  });
  await Promise.all([
    writeFile(join(folder, "edge.js"), edge),
    writeFile(join(folder, "assets.js"), assetsWorker),
    writeFile(join(folder, "assets.json"), `${JSON.stringify(Object.fromEntries(files), null, 2)}\n`),
    writeFile(join(folder, "config.capnp"), configuration),
    // With its mode.
    cp(WORKERD, join(folder, "workerd")),
    ...[...files.keys()].map(async (path) => {
      const target = join(folder, "static", path);
      await mkdir(dirname(target), { recursive: true });
      await copyFile(join(source, path), target);
    }),
  ]);
}

/**
 * The settings that a Worker reads: all that its code names. A setting that is not in the environment of the process is null in the
 * bindings, and so is ignored.
 */
export function settingNames(script: string): string[] {
  return [...new Set(script.match(/\bSERVICE_[A-Z0-9]+(?:_[A-Z0-9]+)*\b/g))].sort();
}

/** The files below a folder, by the path under which they are served. */
async function describeFiles(folder: string): Promise<Map<string, AssetDescription>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const described = paths.sort().map(async (path): Promise<[string, AssetDescription]> => {
    const contentType = CONTENT_TYPES[extname(path)];
    if (contentType === undefined) throw new Error(`${path} has an extension without a content type`);
    const digest = createHash("sha256").update(await readFile(path));
    return [path.slice(folder.length), { contentType, entityTag: `"${digest.digest("hex").slice(0, 32)}"` }];
  });
  return new Map(await Promise.all(described));
}

interface Configuration {
  readonly settings: readonly string[];
  readonly assetsBinding: string;
  readonly files: ReadonlyMap<string, AssetDescription>;
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
}

function capnp(configuration: Configuration): string {
  const { settings, assetsBinding, files, compatibilityDate, compatibilityFlags } = configuration;
  const compatibility = [
    `compatibilityDate = ${quote(compatibilityDate)}`,
    `compatibilityFlags = [${compatibilityFlags.map(quote).join(", ")}]`,
  ];
  const fromEnvironment = settings.map((name) => `(name = ${quote(name)}, fromEnvironment = ${quote(name)})`);
  const contents = [...files.keys()].map((path) => `(name = ${quote(path)}, data = embed ${quote(`static${path}`)})`);
  return `# Made by \`npm run build:edge\` from wrangler.toml. Start it in this folder: ./workerd serve config.capnp
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "assets", worker = .assets),
    # The backends may have private addresses. The edge fetches from nothing else: their URLs are a setting, and no request chooses one.
    (name = "backends", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(
    name = ${quote(EDGE_SOCKET)},
    address = ${quote(EDGE_ADDRESS)},
    # The client's scheme, from a proxy that terminates TLS. It appears in the \`instance\` of problems.
    http = (forwardedProtoHeader = "X-Forwarded-Proto"),
    service = "edge",
  )],
);

const edge :Workerd.Worker = (
  modules = [(name = "edge.js", esModule = embed "edge.js")],
  ${compatibility.join(",\n  ")},
  globalOutbound = "backends",
  bindings = [
    (name = ${quote(assetsBinding)}, service = "assets"),
    ${fromEnvironment.join(",\n    ")},
  ],
);

const assets :Workerd.Worker = (
  modules = [(name = "assets.js", esModule = embed "assets.js")],
  ${compatibility.join(",\n  ")},
  bindings = [
    (name = "DESCRIPTIONS", json = embed "assets.json"),
    ${contents.join(",\n    ")},
  ],
);
`;
}

/** A text literal of Cap'n Proto. Names and paths of this project need no more than JSON's escapes of ASCII. */
function quote(text: string): string {
  return JSON.stringify(text);
}
