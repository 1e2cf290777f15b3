/**
 * `npm run build:client`: builds the client and the rules as one package of plain JavaScript with types, for programs
 * that send requests (docs/client.md). The package is written to dist/client; `npm pack ./dist/client` makes a file
 * that any project can install.
 *
 * Their imports from other packages are bundled, so that the package has no dependencies: they take a few kilobytes,
 * and two of those packages require a newer Node than the client does.
 */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { emptyPackageFolder, PROJECT, readManifest, writePackageFiles } from "./build/package-folder.ts";
import { writeReachableTypes } from "./build/reachable-types.ts";

const TARGET = await emptyPackageFolder("client");
await writeReachableTypes("clients/typescript", TARGET, [
  "clients/typescript/client.d.ts",
  "rules/published-rules.d.ts",
]);
const { metafile } = await build({
  absWorkingDir: fileURLToPath(PROJECT),
  entryPoints: { client: "clients/typescript/client.ts", rules: "rules/published-rules.ts" },
  outdir: fileURLToPath(TARGET),
  bundle: true,
  // The rules are a separate chunk, which the client loads when it needs them.
  splitting: true,
  chunkNames: "chunk-[hash]",
  format: "esm",
  platform: "neutral",
  target: "es2022",
  metafile: true,
  logLevel: "warning",
});
await writePackageFiles(TARGET, {
  inputs: Object.keys(metafile.inputs),
  licencesFile: "THIRD-PARTY-LICENSES.txt",
  page: "client.md",
  manifest: {
    ...(await readManifest("clients/typescript")),
    exports: {
      ".": { types: "./types/clients/typescript/client.d.ts", default: "./client.js" },
      "./rules": { types: "./types/rules/published-rules.d.ts", default: "./rules.js" },
      "./package.json": "./package.json",
    },
  },
});
process.stdout.write("dist/client is ready\n");
