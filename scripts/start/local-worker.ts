/**
 * Workers on this machine: run in workerd by Miniflare, as `wrangler dev` does, but without its proxies: they cost 6 ms per
 * request, read bodies that the Worker would reject, and hide disconnects. Secrets pass through a pipe alone.
 */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BuildOptions } from "esbuild";
import * as v from "valibot";
import { describeAssets } from "../assets/asset-files.ts";
import { provideStaticAssets } from "../assets/static-assets.ts";

export const LOOPBACK = "127.0.0.1";

export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const PROJECT = new URL("../../", import.meta.url);
const workerName = (index: number) => `worker-${index}`;
const ASSETS_WORKER_NAME = "assets";
const FOLDER_WORKER = "edge/standalone/assets-from-folder.ts";

/** The contents of `wrangler.toml`. Unknown members are errors, so that what runs here is what is deployed. */
const WRANGLER_CONFIG = v.strictObject({
  name: v.string(),
  main: v.string(),
  compatibility_date: v.string(),
  compatibility_flags: v.array(v.string()),
  build: v.strictObject({ command: v.literal("node scripts/assets/build-assets.mjs") }),
  assets: v.strictObject({
    directory: v.string(),
    binding: v.string(),
    run_worker_first: v.literal(true),
    html_handling: v.literal("none"),
    not_found_handling: v.literal("none"),
  }),
  vars: v.record(v.string(), v.string()),
  ratelimits: v.optional(
    v.array(
      v.strictObject({
        name: v.string(),
        namespace_id: v.string(),
        simple: v.strictObject({ limit: v.number(), period: v.picklist([10, 60]) }),
      }),
    ),
    [],
  ),
  analytics_engine_datasets: v.optional(v.array(v.strictObject({ binding: v.string(), dataset: v.string() })), []),
  secrets: v.strictObject({ required: v.array(v.string()) }),
  observability: v.object({ enabled: v.boolean() }),
  // The environments that are deployed. Here, the top level runs.
  env: v.record(v.string(), v.unknown()),
});

type WranglerConfig = v.InferOutput<typeof WRANGLER_CONFIG>;
type Bindings = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export interface LocalWorker {
  readonly url: URL;
  stop(): Promise<void>;
}

type LocalWorkers = Awaited<ReturnType<typeof startInWorkerd>>;

/** Starts the Worker of `wrangler.toml` once for each of the bindings, which override it. Port 0: a free one. */
export async function startConfiguredWorkers(
  bindings: readonly Readonly<Record<string, string>>[],
  port: number,
  rateLimits: WranglerConfig["ratelimits"] = [],
): Promise<LocalWorkers> {
  const { main, vars, assets, ratelimits } = await wranglerConfig();
  // wrangler has `build.command` do this.
  await provideStaticAssets();
  return startInWorkerd(main, {
    port,
    bindings: bindings.map((own) => ({ ...vars, ...own })),
    rateLimits: [...ratelimits, ...rateLimits],
    assets,
  });
}

/** Starts any module on a free port, with the compatibility date and flags of `wrangler.toml`, for tests and benches. */
export async function startWorkerFile(
  entrypoint: string,
  bindings: Bindings = {},
  durableObjects?: WorkerOptions["durableObjects"],
): Promise<LocalWorker> {
  return onlyWorker(await startInWorkerd(entrypoint, { bindings: [bindings], durableObjects }));
}

export function onlyWorker({ urls: [url], stop }: LocalWorkers): LocalWorker {
  if (url === undefined) throw new Error("workerd runs no Worker");
  return { url, stop };
}

export async function wranglerConfig() {
  const { parse: parseToml } = await import("smol-toml");
  return v.parse(WRANGLER_CONFIG, parseToml(await readFile(new URL("wrangler.toml", PROJECT), "utf8")));
}

interface WorkerOptions {
  readonly port?: number;
  readonly bindings: readonly Bindings[];
  readonly rateLimits?: WranglerConfig["ratelimits"];
  readonly assets?: WranglerConfig["assets"];
  /** The class of each binding, and the folder in which they keep their storage. */
  readonly durableObjects?: { readonly classes: Readonly<Record<string, string>>; readonly folder: string } | undefined;
}

async function startInWorkerd(
  main: string,
  { port = 0, bindings, rateLimits = [], assets, durableObjects }: WorkerOptions,
) {
  const [config, script, { Miniflare, convertV4MiniflareOptions }] = await Promise.all([
    wranglerConfig(),
    bundle(main),
    import("miniflare"),
  ]);
  const { compatibility_date: compatibilityDate, compatibility_flags: compatibilityFlags } = config;
  const compatibility = { compatibilityDate, compatibilityFlags };
  const temporaryFolder = await mkdtemp(join(tmpdir(), "document-rendering-edge-"));
  const ownHandlers = new Map(STOP_SIGNALS.map((signal) => [signal, process.listeners(signal)]));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: LOOPBACK,
      // Otherwise Miniflare fetches a sample of Cloudflare's request metadata from the network.
      cf: false,
      resourceTmpPath: temporaryFolder,
      ...(durableObjects !== undefined && { resourcePersistencePath: durableObjects.folder }),
      workers: [
        ...bindings.map((own, index) => ({
          name: workerName(index),
          modules: [{ type: "ESModule" as const, path: "worker.js", contents: script }],
          ...compatibility,
          bindings: { ...own },
          ratelimits: Object.fromEntries(rateLimits.map(({ name, ...binding }) => [name, binding])),
          // Miniflare takes the data points and keeps none.
          analyticsEngineDatasets: Object.fromEntries(
            config.analytics_engine_datasets.map(({ binding, dataset }) => [binding, { dataset }]),
          ),
          cacheAPI: false,
          durableObjects: Object.fromEntries(
            Object.entries(durableObjects?.classes ?? {}).map(([binding, className]) => [
              binding,
              { className, useSQLite: true },
            ]),
          ),
          // A socket of the Worker itself: Miniflare's default one runs every request through another Worker.
          unsafeDirectSockets: [{ host: LOOPBACK, port }],
          ...(assets !== undefined && { serviceBindings: { [assets.binding]: ASSETS_WORKER_NAME } }),
        })),
        // In a separate Worker, because Miniflare would put its router in front of the main one.
        ...(assets === undefined ? [] : [{ ...(await assetsWorker(assets)), ...compatibility }]),
      ],
    }),
  );
  const stop = async () => {
    await miniflare.dispose();
    await rm(temporaryFolder, { recursive: true, force: true });
  };
  try {
    await miniflare.ready;
    // Miniflare's signal handlers would end the process during a graceful stop. It ends workerd at exit in any case.
    for (const [signal, handlers] of ownHandlers) {
      for (const handler of process.listeners(signal)) if (!handlers.includes(handler)) process.off(signal, handler);
    }
    return {
      urls: await Promise.all(bindings.map((_own, index) => miniflare.unsafeGetDirectURL(workerName(index)))),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The Worker that serves the static files where there is no Cloudflare, as the two `none` above require. */
async function assetsWorker({ directory }: WranglerConfig["assets"]) {
  const folder = fileURLToPath(new URL(directory, PROJECT));
  const { descriptions, bindings } = await describeAssets(folder);
  return {
    name: ASSETS_WORKER_NAME,
    modules: [{ type: "ESModule" as const, path: "assets.js", contents: await bundle(FOLDER_WORKER) }],
    bindings: { DESCRIPTIONS: descriptions, PATHS: Object.fromEntries(bindings) },
    serviceBindings: { FOLDER: { disk: { path: folder, writable: false } } },
  };
}

const bundles = new Map<string, Promise<string>>();

/** Bundles a Worker into one module, with the options that wrangler uses, once per process. */
export const bundle = (main: string) =>
  bundles.getOrInsertComputed(main, () =>
    bundleAnew(main, { conditions: ["workerd", "worker", "browser"], external: ["cloudflare:*"] }),
  );

/** Bundles a program of Node into one module. */
export const bundleProgram = (main: string) => bundleAnew(main, { platform: "node" });

async function bundleAnew(main: string, platform: BuildOptions): Promise<string> {
  const esbuild = await import("esbuild");
  const { outputFiles } = await esbuild.build({
    absWorkingDir: fileURLToPath(PROJECT),
    entryPoints: [main],
    bundle: true,
    format: "esm",
    target: "es2024",
    logLevel: "silent",
    ...platform,
    write: false,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${main}`);
  return file.text;
}
