/**
 * Workers on this machine: bundled by esbuild and run in workerd by Miniflare, which `wrangler dev` runs as well.
 *
 * Clients talk to workerd itself. The proxies of `wrangler dev` cost 6 ms per request, read bodies that the Worker would
 * refuse and hide from it that a client has gone; and wrangler writes a log file that holds the secrets. Miniflare hands
 * workerd its configuration, secrets included, through a pipe: they are on no disk and on no command line.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { array, boolean, literal, object, parse, record, strictObject, string } from "valibot";
import { provideReferenceViewer } from "./reference-viewer.mjs";

export const LOOPBACK = "127.0.0.1";

/** The signals by which the service is asked to stop. */
export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const PROJECT = new URL("../", import.meta.url);
const WORKER_NAME = "worker";
const ASSETS_WORKER_NAME = "assets";

/** What `wrangler.toml` may say. Unknown members are refused: what is deployed must be what runs here. */
const WRANGLER_CONFIG = strictObject({
  name: string(),
  main: string(),
  compatibility_date: string(),
  compatibility_flags: array(string()),
  build: strictObject({ command: literal("node scripts/build-assets.mjs") }),
  assets: strictObject({
    directory: string(),
    binding: string(),
    run_worker_first: literal(true),
    html_handling: literal("none"),
    not_found_handling: literal("none"),
  }),
  vars: record(string(), string()),
  observability: object({ enabled: boolean() }),
});

export interface LocalWorker {
  readonly url: URL;
  stop(): Promise<void>;
}

/**
 * Starts the Worker of `wrangler.toml`, with the bindings beside or in place of its own.
 *
 * @param port the port of the loopback interface to listen on; 0 takes a free one.
 */
export async function startConfiguredWorker(
  bindings: Readonly<Record<string, string>>,
  port: number,
): Promise<LocalWorker> {
  const { main, vars, assets } = await wranglerConfig();
  // What `build.command` does for wrangler.
  await provideReferenceViewer();
  return startInWorkerd(main, port, { ...vars, ...bindings }, assets);
}

/** Starts any module on a free port, with the compatibility date and flags of `wrangler.toml`: for benchmarks. */
export function startWorkerFile(entrypoint: string): Promise<LocalWorker> {
  return startInWorkerd(entrypoint, 0, {}, null);
}

async function wranglerConfig() {
  const { parse: parseToml } = await import("smol-toml");
  return parse(WRANGLER_CONFIG, parseToml(await readFile(new URL("wrangler.toml", PROJECT), "utf8")));
}

type AssetsConfig = Awaited<ReturnType<typeof wranglerConfig>>["assets"];

async function startInWorkerd(
  main: string,
  port: number,
  bindings: Readonly<Record<string, string>>,
  assets: AssetsConfig | null,
): Promise<LocalWorker> {
  const [config, script, { Miniflare, convertV4MiniflareOptions }] = await Promise.all([
    wranglerConfig(),
    bundle(main),
    import("miniflare"),
  ]);
  const compatibility = {
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags,
  };
  const temporaryFolder = await mkdtemp(join(tmpdir(), "document-rendering-edge-"));
  const ownHandlers = new Map(STOP_SIGNALS.map((signal) => [signal, process.listeners(signal)]));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      host: LOOPBACK,
      // No request of Miniflare's own for a sample of Cloudflare's metadata.
      cf: false,
      resourceTmpPath: temporaryFolder,
      workers: [
        {
          name: WORKER_NAME,
          modules: [{ type: "ESModule", path: "worker.js", contents: script }],
          ...compatibility,
          bindings: { ...bindings },
          cacheAPI: false,
          // Miniflare's own entry runs every request through another Worker. This socket is the Worker's own.
          unsafeDirectSockets: [{ host: LOOPBACK, port }],
          ...(assets !== null && { serviceBindings: { [assets.binding]: ASSETS_WORKER_NAME } }),
        },
        // Apart from the Worker: assets of its own would put Miniflare's router in front of it.
        ...(assets === null ? [] : [{ ...assetsWorker(assets), ...compatibility }]),
      ],
    }),
  );
  const stop = async () => {
    await miniflare.dispose();
    await rm(temporaryFolder, { recursive: true, force: true });
  };
  try {
    await miniflare.ready;
    // Miniflare's own handlers end the process in the middle of an orderly stop. It ends workerd at exit all the same.
    for (const [signal, handlers] of ownHandlers) {
      for (const handler of process.listeners(signal)) if (!handlers.includes(handler)) process.off(signal, handler);
    }
    return { url: await miniflare.unsafeGetDirectURL(WORKER_NAME), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A Worker of nothing but static files, which `run_worker_first` and the two `none` above make the router's work. */
function assetsWorker({ directory, html_handling, not_found_handling }: AssetsConfig) {
  return {
    name: ASSETS_WORKER_NAME,
    modules: [{ type: "ESModule" as const, path: "assets.js", contents: "export default {};" }],
    assets: {
      directory: fileURLToPath(new URL(directory, PROJECT)),
      routerConfig: { has_user_worker: false },
      assetConfig: { html_handling, not_found_handling },
    },
  };
}

/** One module of everything, with the settings by which wrangler bundles. */
async function bundle(main: string): Promise<string> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(PROJECT),
    entryPoints: [main],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    logLevel: "silent",
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error(`esbuild made nothing of ${main}`);
  return file.text;
}
