/**
 * `npm run build:client`, `build:cli`, `build:e-invoice`: bundle a package to `dist/<name>` or a second argument. npm compares
 * PACKAGE_REPOSITORY with the provenance of what is published.
 */
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { execa } from "execa";
import { WITHOUT_UNUSED_FORMATS } from "./assets/bundle-validator.ts";
import { bundledPackages, licencesOfPackages, packagesOf } from "./assets/licences.ts";

const PROJECT = new URL("../", import.meta.url);

interface Package {
  readonly folder: string;
  /** The page of `docs/` that is its README. */
  readonly page: string;
  /** The file with the licences of what is bundled. */
  readonly licences: string;
  /** By the paths of its exports: their declarations in `types/`, and their files. */
  readonly exports?: Readonly<Record<string, readonly [types: string, code: string]>>;
  readonly more?: object;
  /** Files that it reads beside its bundle, and where each comes from. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly bundle: (manifest: Manifest) => BuildOptions;
}

interface Manifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

/** For the oldest Node of a manifest. Names are kept, so that the stack of a reported error is readable. */
function bundleForNode({ engines }: Manifest): BuildOptions {
  const target = `node${engines.node.replace(">=", "")}`;
  return { platform: "node", target, minifySyntax: true, minifyWhitespace: true };
}

/**
 * What a bundle imports of Node is an object of getters, so that a run loads only what it uses. Besides, Node reads all
 * exports of a module that is imported, and has to load what is behind them: half of the time of a short run.
 */
const LAZY_BUILTINS: Plugin = {
  name: "lazy-builtins",
  setup(bundle) {
    bundle.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin" }));
    bundle.onLoad({ filter: /./, namespace: "builtin" }, ({ path }) => {
      const builtin = process.getBuiltinModule(path);
      const load = `process.getBuiltinModule(${JSON.stringify(path)})`;
      // Some are functions, and the members of `process` are given values.
      if (typeof builtin !== "object" || builtin === process) return { contents: `module.exports = ${load};` };
      const names = JSON.stringify(Object.keys(builtin));
      const get = `() => (loaded ??= ${load})[name]`;
      return {
        contents: `let loaded; for (const name of ${names}) Object.defineProperty(exports, name, { enumerable: true, get: ${get} });`,
      };
    });
  },
};

/** Where its entry point finds the program: in one file, because to find and open each of 40 takes longer than to read all. */
const PROGRAM_BESIDE: Plugin = {
  name: "program-beside",
  setup(bundle) {
    bundle.onResolve({ filter: /^\.\/main\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./program.js", external: true } : undefined,
    );
  },
};

const PACKAGES: Readonly<Record<string, Package>> = {
  client: {
    folder: "clients/typescript",
    page: "client.md",
    licences: "THIRD-PARTY-LICENSES.txt",
    exports: {
      ".": ["clients/typescript/client.d.ts", "client.js"],
      "./rules": ["rules/published-rules.d.ts", "rules.js"],
    },
    bundle: () => ({
      entryPoints: { client: "clients/typescript/client.ts", rules: "rules/published-rules.ts" },
      // The rules are a separate chunk, which the client loads when it needs them.
      splitting: true,
      chunkNames: "chunk-[hash]",
      platform: "neutral",
      target: "es2022",
    }),
  },
  // The entry point is separate, so that an old Node can parse it and say that it is too old.
  cli: {
    folder: "clients/command-line",
    page: "command-line.md",
    licences: "LICENSES-OF-PACKAGES.txt",
    more: { bin: { "document-rendering": "./main.js" } },
    beside: {
      // The package `open` looks for this program beside itself, because not every Linux machine has one.
      "xdg-open": "node_modules/open/xdg-open",
      "typst-parser.wasm": "node_modules/codemirror-lang-typst/wasm/typst_syntax_bg.wasm",
    },
    bundle: (manifest) => ({
      entryPoints: { main: "clients/command-line/start.mjs", program: "clients/command-line/main.ts" },
      ...bundleForNode(manifest),
      // Node 14 must be able to parse the entry point.
      supported: { "logical-assignment": false },
      define: {
        PACKAGE_VERSION: JSON.stringify(manifest.version),
        TYPST_PARSER_FILE: JSON.stringify("./typst-parser.wasm"),
      },
      // Some of the packages are CommonJS and require modules of Node, but nothing else.
      banner: { js: "const require = process.getBuiltinModule;" },
      plugins: [WITHOUT_UNUSED_FORMATS, LAZY_BUILTINS, PROGRAM_BESIDE],
    }),
  },
  "e-invoice": {
    folder: "clients/e-invoice",
    page: "e-invoices.md",
    licences: "THIRD-PARTY-LICENSES.txt",
    exports: { ".": ["e-invoice.d.ts", "e-invoice.js"] },
    bundle: (manifest) => ({
      entryPoints: { "e-invoice": "clients/e-invoice/e-invoice.ts" },
      ...bundleForNode(manifest),
      charset: "utf8",
    }),
  },
};

const [name = "", target] = process.argv.slice(2);
const chosen = PACKAGES[name];
if (chosen === undefined) throw new Error(`there is no package ${name}; there are ${Object.keys(PACKAGES).join(", ")}`);
await buildPackage(chosen, resolve(target ?? fileURLToPath(new URL(`dist/${name}`, PROJECT))));
process.stdout.write(`dist/${name} is ready\n`);

async function buildPackage(
  { folder, page, licences, exports, more, beside = {}, bundle }: Package,
  path: string,
): Promise<void> {
  const into = pathToFileURL(`${path}/`);
  await rm(into, { recursive: true, force: true });
  const {
    private: _private,
    devDependencies: _bundled,
    exports: _sources,
    ...manifest
  } = JSON.parse(await readFile(new URL(`${folder}/package.json`, PROJECT), "utf8"));
  const declarations = Object.values(exports ?? {}).map(([types]) => types);
  if (exports !== undefined) await writeReachableTypes(new URL(folder, PROJECT), into, declarations);
  const { metafile } = await build({
    absWorkingDir: fileURLToPath(PROJECT),
    outdir: path,
    bundle: true,
    format: "esm",
    metafile: true,
    logLevel: "warning",
    ...bundle(manifest),
  });
  for (const [file, place] of Object.entries(beside)) await cp(new URL(place, PROJECT), new URL(file, into));
  const published = Object.entries(exports ?? {}).map(([entry, [types, code]]) => [
    entry,
    { types: `./types/${types}`, default: `./${code}` },
  ]);
  const all = exports && { exports: { ...Object.fromEntries(published), "./package.json": "./package.json" } };
  await writeFile(
    new URL(licences, into),
    await licencesOfPackages([...bundledPackages(metafile), ...packagesOf(Object.values(beside))]),
  );
  await cp(new URL("LICENSE", PROJECT), new URL("LICENSE", into));
  await cp(new URL(`docs/${page}`, PROJECT), new URL("README.md", into));
  const { PACKAGE_REPOSITORY: url } = process.env;
  const repository = url && { repository: { type: "git", url } };
  const complete = { ...manifest, ...more, ...all, ...repository };
  await writeFile(new URL("package.json", into), `${JSON.stringify(complete, null, 2)}\n`);
}

/** Writes the types of a folder's `tsconfig.build.json` to a package's `types/`, without what no entry point imports. */
async function writeReachableTypes(folder: URL, target: URL, entryPoints: readonly string[]): Promise<void> {
  const types = new URL("types/", target);
  const project = `${fileURLToPath(folder)}/tsconfig.build.json`;
  // The Dockerfile runs this without npm, which would put it on the PATH.
  const ofProject = { preferLocal: true, localDir: PROJECT } as const;
  await execa("tsc", ["-p", project, "--outDir", fileURLToPath(types)], { stdio: "inherit", ...ofProject });
  const reachable = new Set(entryPoints.map((path) => new URL(path, types).href));
  for (const href of reachable) {
    const text = await readFile(new URL(href), "utf8");
    for (const [, path = ""] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.ts"/g)) {
      reachable.add(new URL(`${path}.d.ts`, href).href);
    }
  }
  for (const path of await readdir(types, { recursive: true })) {
    const file = new URL(path, types);
    if (path.endsWith(".d.ts") && !reachable.has(file.href)) await rm(file);
  }
}
