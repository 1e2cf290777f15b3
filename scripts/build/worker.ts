/** Workers and programs of Node in one module each, as wrangler bundles them. */
import { fileURLToPath } from "node:url";
import type { BuildOptions } from "esbuild";

const PROJECT = new URL("../../", import.meta.url);

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
