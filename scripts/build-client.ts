/**
 * `npm run build:client`: builds the client and the rules as one package of plain JavaScript with types, for programs that
 * send requests (docs/client.md). The package is written to dist/client; `npm pack ./dist/client` makes a file that any
 * project can install.
 *
 * What they import from other packages is bundled, so that the package has no dependencies: it is a few kilobytes, and two
 * of those packages ask for a newer Node than the client does.
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
const TARGET = pathToFileURL(`${resolve(process.argv[2] ?? fileURLToPath(new URL("dist/client", ROOT)))}/`);
const THIRD_PARTY_LICENSES = "THIRD-PARTY-LICENSES.txt";

const project: { version: string; license: string } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));

await rm(TARGET, { recursive: true, force: true });
const types = ["--outDir", fileURLToPath(new URL("types", TARGET))];
execFileSync("tsc", ["-p", fileURLToPath(new URL("client/tsconfig.build.json", ROOT)), ...types], { stdio: "inherit" });
await removeUnreachableTypes(new URL("types/", TARGET), ["client/client.d.ts", "rules/published-rules.d.ts"]);
const { metafile } = await build({
  absWorkingDir: fileURLToPath(ROOT),
  entryPoints: { client: "client/client.ts", rules: "rules/published-rules.ts" },
  outdir: fileURLToPath(TARGET),
  bundle: true,
  // The client loads the rules when it needs them: they are a chunk of their own.
  splitting: true,
  chunkNames: "chunk-[hash]",
  format: "esm",
  platform: "neutral",
  target: "es2022",
  metafile: true,
  logLevel: "warning",
});
await writeFile(new URL(THIRD_PARTY_LICENSES, TARGET), await licencesOfPackages(Object.keys(metafile.inputs)));
await cp(new URL("LICENSE", ROOT), new URL("LICENSE", TARGET));
await cp(new URL("docs/client.md", ROOT), new URL("README.md", TARGET));
await writeFile(
  new URL("package.json", TARGET),
  `${JSON.stringify(
    {
      name: "document-rendering-client",
      version: project.version,
      description: "Client of the document rendering service, and its rules to check requests before they are sent",
      license: project.license,
      type: "module",
      sideEffects: false,
      engines: { node: ">=20" },
      exports: {
        ".": { types: "./types/client/client.d.ts", default: "./client.js" },
        "./rules": { types: "./types/rules/published-rules.d.ts", default: "./rules.js" },
        "./package.json": "./package.json",
      },
    },
    null,
    2,
  )}\n`,
);
process.stdout.write("dist/client is ready\n");
