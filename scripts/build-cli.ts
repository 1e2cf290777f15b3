/**
 * `npm run build:cli`: builds the command line client as a package without dependencies, so that it starts at once and
 * installs offline. Its entry point is separate, so that an old Node can parse it and say that it is too old; each
 * command is loaded when it is used. `npm pack ./dist/cli` makes a file that any project can install.
 */
import { cp } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { WITHOUT_UNUSED_FORMATS } from "./assets/bundle-validator.ts";
import { emptyPackageFolder, nodeTarget, PROJECT, readManifest, writePackageFiles } from "./build/package-folder.ts";

const MANIFEST = await readManifest("clients/command-line");
const TARGET = await emptyPackageFolder("cli");
const { metafile } = await build({
  absWorkingDir: fileURLToPath(PROJECT),
  entryPoints: { main: "clients/command-line/start.mjs" },
  outdir: fileURLToPath(TARGET),
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  // Names are kept, so that the stack of a reported error is readable.
  minifySyntax: true,
  minifyWhitespace: true,
  metafile: true,
  platform: "node",
  format: "esm",
  target: nodeTarget(MANIFEST),
  define: { PACKAGE_VERSION: JSON.stringify(MANIFEST.version) },
  // Some of the packages are CommonJS and require modules of Node, but nothing else.
  banner: { js: "const require = process.getBuiltinModule;" },
  logLevel: "warning",
  plugins: [
    WITHOUT_UNUSED_FORMATS,
    {
      // A package of its own, which only `render --e-invoice` asks for: it is larger than the command.
      name: "e-invoice-apart",
      setup: ({ onResolve }) =>
        onResolve({ filter: /\/e-invoice\/e-invoice\.ts$/ }, () => ({
          path: "document-rendering-e-invoice",
          external: true,
        })),
    },
  ],
});

// The package `open` looks for this program beside itself, because not every Linux machine has one.
await cp(new URL("node_modules/open/xdg-open", PROJECT), new URL("xdg-open", TARGET));
await writePackageFiles(TARGET, {
  inputs: Object.keys(metafile.inputs),
  licencesFile: "LICENSES-OF-PACKAGES.txt",
  page: "command-line.md",
  manifest: { ...MANIFEST, bin: { "document-rendering": "./main.js" } },
});
process.stdout.write("dist/cli is ready\n");
