/** The Worker as `wrangler.toml` describes it, and programs in one module each, as wrangler bundles them. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { BuildOptions } from "esbuild";
import * as v from "valibot";

const PROJECT = new URL("../../", import.meta.url);

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

export type WranglerConfig = v.InferOutput<typeof WRANGLER_CONFIG>;

export async function wranglerConfig() {
  const { parse: parseToml } = await import("smol-toml");
  return v.parse(WRANGLER_CONFIG, parseToml(await readFile(new URL("wrangler.toml", PROJECT), "utf8")));
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
