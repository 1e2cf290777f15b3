/**
 * `npm run build:e-invoice`: builds the package that finishes e-invoices (docs/e-invoices.md) to dist/e-invoice, as plain
 * JavaScript with types and without dependencies. `npm pack ./dist/e-invoice` makes a file that any project can install.
 */
import { execFileSync } from "node:child_process";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { licencesOfPackages } from "./licences-of-packages.ts";
import { removeUnreachableTypes } from "./reachable-types.ts";

const ROOT = new URL("../", import.meta.url);
/** An argument names another folder, for the packages of a release. */
const TARGET = pathToFileURL(`${resolve(process.argv[2] ?? fileURLToPath(new URL("dist/e-invoice", ROOT)))}/`);
/** The oldest that has all that is used here. */
const MIN_NODE = "20";

const project: { version: string; license: string } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));

await rm(TARGET, { recursive: true, force: true });
const types = ["--outDir", fileURLToPath(new URL("types", TARGET))];
execFileSync("tsc", ["-p", fileURLToPath(new URL("e-invoice/tsconfig.build.json", ROOT)), ...types], {
  stdio: "inherit",
});
await removeUnreachableTypes(new URL("types/", TARGET), ["e-invoice.d.ts"]);
const { metafile } = await build({
  absWorkingDir: fileURLToPath(ROOT),
  entryPoints: { "e-invoice": "e-invoice/e-invoice.ts" },
  outdir: fileURLToPath(TARGET),
  bundle: true,
  // The schema and the rules of a profile are loaded when an invoice has it.
  splitting: true,
  chunkNames: "[name]-[hash]",
  minifySyntax: true,
  minifyWhitespace: true,
  charset: "utf8",
  format: "esm",
  platform: "node",
  target: `node${MIN_NODE}`,
  metafile: true,
  logLevel: "warning",
});
await writeFile(new URL("THIRD-PARTY-LICENSES.txt", TARGET), await licencesOfPackages(Object.keys(metafile.inputs)));
await cp(new URL("e-invoice/rules/LICENSES.md", ROOT), new URL("LICENSES-OF-RULES.md", TARGET));
await cp(new URL("LICENSE", ROOT), new URL("LICENSE", TARGET));
await cp(new URL("docs/e-invoices.md", ROOT), new URL("README.md", TARGET));
await writeFile(
  new URL("package.json", TARGET),
  `${JSON.stringify(
    {
      name: "document-rendering-e-invoice",
      version: project.version,
      description: "Checks the XML in a PDF/A-3 and finishes it as a Factur-X, ZUGFeRD or XRechnung invoice",
      license: project.license,
      type: "module",
      engines: { node: `>=${MIN_NODE}` },
      exports: {
        ".": { types: "./types/e-invoice.d.ts", default: "./e-invoice.js" },
        "./package.json": "./package.json",
      },
    },
    null,
    2,
  )}\n`,
);
process.stdout.write("dist/e-invoice is ready\n");
