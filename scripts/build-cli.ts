/**
 * `npm run build:cli`: builds the command line client as a package of one JavaScript file without dependencies, so that it
 * starts at once and installs offline. `npm pack ./dist/cli` makes a file that any project can install.
 */
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const ROOT = new URL("../", import.meta.url);
/** An argument names another folder, for tests. */
const TARGET = pathToFileURL(`${resolve(process.argv[2] ?? fileURLToPath(new URL("dist/cli", ROOT)))}/`);
/** The oldest that the packages in it run on. */
const MIN_NODE = "22.12.0";

const project: { version: string; license: string } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));

await rm(TARGET, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: fileURLToPath(ROOT),
  entryPoints: ["cli/main.ts"],
  outfile: fileURLToPath(new URL("main.js", TARGET)),
  bundle: true,
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
});

await cp(new URL("LICENSE", ROOT), new URL("LICENSE", TARGET));
await cp(new URL("docs/command-line.md", ROOT), new URL("README.md", TARGET));
await writeFile(new URL("LICENSES-OF-PACKAGES.txt", TARGET), await licences(Object.keys(metafile.inputs)));
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

/** The licence of every package that is part of the file, as their licences ask for. */
async function licences(inputs: readonly string[]): Promise<string> {
  const folders = new Set(
    inputs
      .map((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0])
      .filter((found) => found !== undefined),
  );
  const texts = await Promise.all(
    [...folders].sort().map(async (folder) => {
      const names = await readdir(new URL(`${folder}/`, ROOT));
      const file = names.find((name) => /^licen[cs]e/i.test(name));
      const title = folder.replace(/^.*node_modules\//, "");
      if (file !== undefined) return `${title}\n\n${await readFile(new URL(`${folder}/${file}`, ROOT), "utf8")}`;
      const { license }: { license?: string } = JSON.parse(
        await readFile(new URL(`${folder}/package.json`, ROOT), "utf8"),
      );
      if (license === undefined) throw new Error(`${title} has no licence`);
      return `${title}\n\n${license}\n`;
    }),
  );
  return texts.join(`\n${"-".repeat(80)}\n`);
}
