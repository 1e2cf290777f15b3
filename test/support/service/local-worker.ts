/**
 * Workers on this machine, for tests and benches: run in workerd by Miniflare, as `wrangler dev` does, but without its proxies:
 * they cost 6 ms per request, read bodies that the Worker would reject, and hide disconnects. Many share one workerd.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { listAssets } from "../../../scripts/assets/asset-files.ts";
import { provideStaticAssets } from "../../../scripts/assets/static-assets.ts";
import { bundle } from "../../../scripts/build/worker.ts";
import { LOOPBACK, STOP_SIGNALS } from "../../../scripts/start/local-service.ts";

const PROJECT = new URL("../../../", import.meta.url);
const workerName = (index: number) => `worker-${index}`;
const ASSETS_WORKER_NAME = "assets";
const FOLDER_WORKER = "test/edge/assets-from-folder.ts";

type WranglerConfig = Awaited<ReturnType<typeof wranglerConfig>>;

/** What of the top level of `wrangler.toml` a Worker runs by, as wrangler reads it. */
async function wranglerConfig() {
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const config = readConfig({ config: fileURLToPath(new URL("wrangler.toml", PROJECT)) });
  const { main = "", vars, compatibility_date: compatibilityDate = "" } = config;
  const { directory = "", binding = "" } = config.assets ?? {};
  const compatibility = { compatibilityDate, compatibilityFlags: config.compatibility_flags };
  return { main, vars, assets: { directory, binding }, compatibility };
}

type Bindings = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export interface LocalWorker {
  readonly url: URL;
  stop(): Promise<void>;
}

type LocalWorkers = Awaited<ReturnType<typeof startInWorkerd>>;

/** Starts the Worker of `wrangler.toml` once for each of the bindings, which override it. */
export async function startConfiguredWorkers(
  bindings: readonly Readonly<Record<string, string>>[],
): Promise<LocalWorkers> {
  const { main, vars, assets } = await wranglerConfig();
  // wrangler has `build.command` do this.
  await provideStaticAssets();
  return startInWorkerd(main, {
    bindings: bindings.map((own) => ({ ...vars, ...own })),
    assets,
  });
}

/** Starts the Worker of `wrangler.toml`. */
export async function startEdge(bindings: Readonly<Record<string, string>>): Promise<LocalWorker> {
  return onlyWorker(await startConfiguredWorkers([bindings]));
}

/** Starts any module on a free port, with the compatibility date and flags of `wrangler.toml`. */
export async function startWorkerFile(
  entrypoint: string,
  bindings: Bindings = {},
  durableObjects?: WorkerOptions["durableObjects"],
): Promise<LocalWorker> {
  return onlyWorker(await startInWorkerd(entrypoint, { bindings: [bindings], durableObjects }));
}

function onlyWorker({ urls: [url], stop }: LocalWorkers): LocalWorker {
  if (url === undefined) throw new Error("workerd runs no Worker");
  return { url, stop };
}

interface WorkerOptions {
  readonly bindings: readonly Bindings[];
  readonly assets?: WranglerConfig["assets"];
  /** The class of each binding, and the folder in which they keep their storage. */
  readonly durableObjects?: { readonly classes: Readonly<Record<string, string>>; readonly folder: string } | undefined;
}

async function startInWorkerd(main: string, { bindings, assets, durableObjects }: WorkerOptions) {
  const [{ compatibility }, script, { Miniflare, convertV4MiniflareOptions }] = await Promise.all([
    wranglerConfig(),
    bundle(main),
    import("miniflare"),
  ]);
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
          cacheAPI: false,
          durableObjects: Object.fromEntries(
            Object.entries(durableObjects?.classes ?? {}).map(([binding, className]) => [
              binding,
              { className, useSQLite: true },
            ]),
          ),
          // A socket of the Worker itself: Miniflare's default one runs every request through another Worker.
          unsafeDirectSockets: [{ host: LOOPBACK, port: 0 }],
          ...(assets !== undefined && { serviceBindings: { [assets.binding]: ASSETS_WORKER_NAME } }),
        })),
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

/** A Worker in place of Cloudflare's asset server, which Miniflare would put in front of the main one. */
async function assetsWorker({ directory }: WranglerConfig["assets"]) {
  const folder = fileURLToPath(new URL(directory, PROJECT));
  const assets = await listAssets(folder);
  const types = assets.map(({ path, contentType, entityTag }) => [path, { contentType, entityTag }] as const);
  return {
    name: ASSETS_WORKER_NAME,
    modules: [{ type: "ESModule" as const, path: "assets.js", contents: await bundle(FOLDER_WORKER) }],
    bindings: { FILES: Object.fromEntries(types) },
    serviceBindings: { FOLDER: { disk: { path: folder, writable: false } } },
  };
}
