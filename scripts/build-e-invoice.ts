/**
 * `npm run build:e-invoice`: builds the package that finishes e-invoices (docs/e-invoices.md) to dist/e-invoice, as
 * plain JavaScript with types and without dependencies. `npm pack ./dist/e-invoice` makes a file that any project can
 * install.
 */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { emptyPackageFolder, nodeTarget, PROJECT, readManifest, writePackageFiles } from "./build/package-folder.ts";
import { writeReachableTypes } from "./build/reachable-types.ts";

const MANIFEST = await readManifest("clients/e-invoice");
const TARGET = await emptyPackageFolder("e-invoice");
await writeReachableTypes("clients/e-invoice", TARGET, ["e-invoice.d.ts"]);
const { metafile } = await build({
  absWorkingDir: fileURLToPath(PROJECT),
  entryPoints: { "e-invoice": "clients/e-invoice/e-invoice.ts" },
  outdir: fileURLToPath(TARGET),
  bundle: true,
  minifySyntax: true,
  minifyWhitespace: true,
  charset: "utf8",
  format: "esm",
  platform: "node",
  target: nodeTarget(MANIFEST),
  metafile: true,
  logLevel: "warning",
});
await writePackageFiles(TARGET, {
  inputs: Object.keys(metafile.inputs),
  licencesFile: "THIRD-PARTY-LICENSES.txt",
  page: "e-invoices.md",
  manifest: {
    ...MANIFEST,
    exports: {
      ".": { types: "./types/e-invoice.d.ts", default: "./e-invoice.js" },
      "./package.json": "./package.json",
    },
  },
});
process.stdout.write("dist/e-invoice is ready\n");
