/**
 * `npm run build:cli`: builds the command line client as a package without dependencies, so that it starts at once and installs
 * offline. Its entry point stands alone, so that an old Node can read it and say so; what few commands need is loaded by them. `npm pack ./dist/cli` makes a file that any project can install.
 */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { WITHOUT_UNUSED_FORMATS } from "./bundle-validator.ts";
import { licencesOfPackages } from "./licences-of-packages.ts";

const ROOT = new URL("../", import.meta.url);
/** An argument names another folder, for tests. */
const TARGET = pathToFileURL(`${resolve(process.argv[2] ?? fileURLToPath(new URL("dist/cli", ROOT)))}/`);
/** The oldest that the packages in it run on. */
const MIN_NODE = "22.12.0";

const project: { version: string; license: string } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));

await rm(TARGET, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: fileURLToPath(ROOT),
  entryPoints: { main: "cli/start.mjs" },
  outdir: fileURLToPath(TARGET),
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  // Names stay, for the stack of an error that somebody reports.
  minifySyntax: true,
  minifyWhitespace: true,
  metafile: true,
  platform: "node",
  format: "esm",
  target: `node${MIN_NODE}`,
  define: { PACKAGE_VERSION: JSON.stringify(project.version) },
  // Some of the packages are CommonJS and require modules of Node.
  banner: {
    js: 'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);',
  },
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

// The package `open` looks for it beside itself: not every Linux machine has one.
await cp(new URL("node_modules/open/xdg-open", ROOT), new URL("xdg-open", TARGET));
await cp(new URL("LICENSE", ROOT), new URL("LICENSE", TARGET));
await cp(new URL("docs/command-line.md", ROOT), new URL("README.md", TARGET));
await writeFile(new URL("LICENSES-OF-PACKAGES.txt", TARGET), await licencesOfPackages(Object.keys(metafile.inputs)));
await writeFile(
  new URL("package.json", TARGET),
  `${JSON.stringify(
    {
      // As the command, so that `npx document-rendering` is this package, in a checkout and elsewhere.
      name: "document-rendering",
      version: project.version,
      description: "Renders Typst documents by the document rendering service, and checks them before",
      license: project.license,
      type: "module",
      bin: { "document-rendering": "./main.js" },
      engines: { node: `>=${MIN_NODE}` },
    },
    null,
    2,
  )}\n`,
);
process.stdout.write("dist/cli is ready\n");
