/** Builds the playground from `clients/playground/`: its page, icon and bundles, and the examples as requests. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type OnLoadArgs, type OnLoadResult, type Plugin } from "esbuild";
import { SCHEMA_FILE } from "../../clients/data-schema/schema-file.ts";
import type { ExampleEntry } from "../../clients/playground/drafts/examples.ts";
import { EXAMPLE_NAMES, examplePath } from "../../protocol/routes.ts";
import { exampleRequest } from "../examples/example-request.ts";
import { BROWSER_ALIASES, WITHOUT_UNUSED_FORMATS } from "./bundle-validator.ts";
import { bundledPackages, packagesOf } from "./licences.ts";
import { provideStaticFile } from "./static-file.ts";

const PROJECT = new URL("../../", import.meta.url);

/** Typst's, as WebAssembly. */
const PARSER = "node_modules/codemirror-lang-typst/wasm/typst_syntax_bg.wasm";

const BUNDLES = [
  { in: "clients/playground/main.ts", out: "playground" },
  { in: "clients/playground/result/pdf-viewer.ts", out: "pdf-viewer" },
  { in: "clients/playground/result/pdf-viewer.css", out: "pdf-viewer" },
  { in: "node_modules/pdfjs-dist/build/pdf.worker.mjs", out: "pdf-worker" },
  { in: "clients/playground/checks/schema-worker.ts", out: "schema-worker" },
  { in: "clients/playground/checks/compiler/compiler-worker.ts", out: "compiler-worker" },
  { in: "clients/playground/checks/template-worker.ts", out: "template-worker" },
  { in: "clients/playground/files/archive-worker.ts", out: "archive-worker" },
  { in: "clients/playground/checks/missing-fonts.ts", out: "missing-fonts" },
  { in: "clients/playground/playground.css", out: "playground" },
];

/** @returns the folders of the packages that are in its bundles */
export async function providePlayground(): Promise<string[]> {
  const copied = ["index.html", "icon.svg"].map(async (name) =>
    provideStaticFile(`playground/${name}`, await readFile(new URL(`clients/playground/${name}`, PROJECT))),
  );
  // Each in a file of its own, which the page fetches when it is chosen. The body is text, unchanged.
  const examples = EXAMPLE_NAMES.map(async (name) => {
    const schema = await readFile(new URL(`examples/${name}/${SCHEMA_FILE}`, PROJECT), "utf8");
    const entry: ExampleEntry = { body: await exampleRequest(name), schema };
    await provideStaticFile(examplePath(name).slice(1), Buffer.from(JSON.stringify(entry)));
  });
  const parser = provideStaticFile("playground/typst-parser.bin", await readFile(new URL(PARSER, PROJECT)));
  const [packages] = await Promise.all([provideBundles(), parser, ...copied, ...examples]);
  return [...packages, ...packagesOf([PARSER])];
}

/** Changes a text in files of packages that are bundled. */
function replaceText(name: string, files: RegExp, text: RegExp, replacement: string): Plugin {
  const load = async ({ path }: OnLoadArgs): Promise<OnLoadResult> => {
    return { contents: (await readFile(path, "utf8")).replace(text, replacement), loader: "js" };
  };
  return { name, setup: ({ onLoad }) => onLoad({ filter: files }, load) };
}

/** Leaves out the objects by which scripts that are no modules reach pdf.js: they would keep what nothing else uses. */
const WITHOUT_GLOBALS = replaceText(
  "without-globals",
  /pdfjs-dist\/(?:web\/pdf_viewer|build\/pdf\.worker)\.mjs$/,
  /^globalThis\.pdfjs(?:Viewer|Worker) = \{[^}]*\};$/m,
  "",
);

/** The worker's policy forbids evaluation, which would only be for a page that gave no files and packages. */
const WITHOUT_EVALUATION = replaceText(
  "without-evaluation",
  /typst_ts_web_compiler\.mjs$/,
  /new Function\(getStringFromWasm0\(.*\)\)/g,
  "() => undefined",
);

/** Bundles the page's scripts and its style sheet. docs/playground.md says what the page weighs. */
async function provideBundles(): Promise<string[]> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: fileURLToPath(PROJECT),
    entryPoints: BUNDLES,
    outdir: "edge/static/playground",
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: "esm",
    target: "es2024",
    platform: "browser",
    alias: BROWSER_ALIASES,
    // The licences of what is bundled, at the end of the bundle.
    legalComments: "eof",
    // The pictures of pdf.js's editors, which the page does not use.
    external: ["images/*"],
    plugins: [WITHOUT_GLOBALS, WITHOUT_EVALUATION, WITHOUT_UNUSED_FORMATS],
    define: { EXAMPLE_TITLES: JSON.stringify(EXAMPLE_NAMES.map((name) => ({ name, title: titleOf(name) }))) },
    logLevel: "silent",
  });
  await Promise.all(
    outputFiles.map(({ path, contents }) => provideStaticFile(`playground/${path.split("/").at(-1)}`, contents)),
  );
  return bundledPackages(metafile);
}

/** "accessible-letter" becomes "Accessible letter". */
function titleOf(name: string): string {
  // The hyphen of a single letter belongs to the word: "E-invoice".
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`.replace(/(?<=\w{2})-/g, " ");
}
