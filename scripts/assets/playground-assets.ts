/**
 * Builds the playground from `clients/playground/`: its page, style sheet, icon and bundles, the worker of pdf.js, and
 * the examples as requests.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { SCHEMA_FILE } from "../../clients/data-schema/schema-file.ts";
import type { ExampleEntry } from "../../clients/playground/drafts/examples.ts";
import { EXAMPLE_NAMES, examplePath } from "../../protocol/routes.ts";
import { exampleRequest } from "../examples/example-request.ts";
import { BROWSER_ALIASES, WITHOUT_UNUSED_FORMATS } from "./bundle-validator.ts";
import { provideStaticFile } from "./static-file.ts";

const PROJECT = new URL("../../", import.meta.url);
const PDF_WORKER = new URL("node_modules/pdfjs-dist/build/pdf.worker.mjs", PROJECT);

/** The bundles, with the entry point of each. */
const BUNDLES = [
  { in: "clients/playground/main.ts", out: "playground" },
  { in: "clients/playground/result/pdf-viewer.ts", out: "pdf-viewer" },
  { in: "clients/playground/result/pdf-viewer.css", out: "pdf-viewer" },
  { in: "clients/playground/checks/schema-worker.ts", out: "schema-worker" },
  { in: "clients/playground/checks/compiler/compiler-worker.ts", out: "compiler-worker" },
  { in: "clients/playground/files/archive-worker.ts", out: "archive-worker" },
  { in: "clients/playground/checks/missing-fonts.ts", out: "missing-fonts" },
  { in: "clients/playground/playground.css", out: "playground" },
];
/** The files that are served unchanged. */
const COPIED = ["index.html", "icon.svg"];

/** Puts the built files of the playground where they are served. */
export async function providePlayground(): Promise<void> {
  await Promise.all([provideBundles(), provideCopies(), provideExamples(), providePdfWorker()]);
}

/** The parts of pdf.js's style sheet that the page uses. The rest is for its tools that edit PDFs. */
const USED_RULES = /^(?::root|\.(?:textLayer|annotationLayer|canvasWrapper|pdfViewer)\b|\[data-main-rotation)/;

/**
 * Leaves out what the page does not use of pdf.js's components: most of their style sheet, and the object by which
 * scripts without modules reach all of them. On a slow line that is half a second before the first page.
 */
const withoutUnusedViewerParts: Plugin = {
  name: "without-unused-viewer-parts",
  setup: ({ onLoad }) => {
    onLoad({ filter: /pdfjs-dist\/web\/pdf_viewer\.css$/ }, async ({ path }) => ({
      contents: topLevelRules(await readFile(path, "utf8"))
        .filter((rule) => USED_RULES.test(rule))
        .join("\n"),
      loader: "css",
    }));
    onLoad({ filter: /pdfjs-dist\/web\/pdf_viewer\.mjs$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replace(/^globalThis\.pdfjsViewer = \{[^}]*\};$/m, ""),
      loader: "js",
    }));
  },
};

const EVALUATION = /new Function\(getStringFromWasm0\(.*\)\)/g;

/**
 * The policy of the compiler's worker forbids the evaluation of text. The compiler evaluates what it would call if the
 * page gave it no files and packages, which the page does.
 */
const withoutEvaluation: Plugin = {
  name: "without-evaluation",
  setup: ({ onLoad }) => {
    onLoad({ filter: /typst_ts_web_compiler\.mjs$/ }, async ({ path }) => {
      const code = await readFile(path, "utf8");
      return { contents: code.replace(EVALUATION, "() => undefined"), loader: "js" };
    });
  },
};

/**
 * The rules of a style sheet without its comments; what is nested in a rule is part of it. No string in it may hold a
 * brace.
 */
function topLevelRules(styles: string): string[] {
  const rules: string[] = [];
  let depth = 0;
  let rule = "";
  for (const part of styles.replace(/\/\*[\s\S]*?\*\//g, "").split(/(?<=[{}])/)) {
    rule += part;
    depth += part.endsWith("{") ? 1 : -1;
    if (depth > 0) continue;
    rules.push(rule.trim());
    rule = "";
  }
  return rules;
}

/** Bundles the page's scripts and its style sheet. The size of each is in docs/playground.md. */
async function provideBundles(): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(PROJECT),
    entryPoints: BUNDLES,
    outdir: "static/playground",
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2024",
    platform: "browser",
    alias: BROWSER_ALIASES,
    // The licences of what is bundled, at the end of the bundle.
    legalComments: "eof",
    // The pictures of pdf.js's editors, which the page does not use.
    external: ["images/*"],
    plugins: [withoutUnusedViewerParts, withoutEvaluation, WITHOUT_UNUSED_FORMATS],
    define: { EXAMPLE_TITLES: JSON.stringify(EXAMPLE_NAMES.map((name) => ({ name, title: titleOf(name) }))) },
    logLevel: "silent",
  });
  await Promise.all(
    outputFiles.map(({ path, contents }) => provideStaticFile(`playground/${path.split("/").at(-1)}`, contents)),
  );
}

async function provideCopies(): Promise<void> {
  await Promise.all(
    COPIED.map(async (name) =>
      provideStaticFile(`playground/${name}`, await readFile(new URL(`clients/playground/${name}`, PROJECT))),
    ),
  );
}

/**
 * Modules of pdf.js's worker that the page does not use, and what stands in for each: forms of XFA, which the page
 * switches off, and a writer of PDFs. On a slow line they are most of a second before the first page.
 */
const UNUSED_WORKER_MODULES: readonly (readonly [RegExp, string])[] = [
  [/^core\/xfa\/factory\.js$/, "class XFAFactory { static getRichTextAsHtml() { return null; } }"],
  [/^core\/xfa\//, ""],
  [/^core\/editor\/pdf_editor\.js$/, "class PDFEditor {}"],
];

async function providePdfWorker(): Promise<void> {
  const modules = (await readFile(PDF_WORKER, "utf8")).split(/^(?=;\/\/ \.\/)/m);
  const used = new Set<RegExp>();
  const contents = modules.map((module) => {
    const [, path = ""] = /^;\/\/ \.\/src\/(\S+)/.exec(module) ?? [];
    const [pattern, replacement] = UNUSED_WORKER_MODULES.find(([unused]) => unused.test(path)) ?? [];
    if (pattern === undefined) return module;
    used.add(pattern);
    return `;${replacement}\n`;
  });
  if (used.size < UNUSED_WORKER_MODULES.length) throw new Error("pdf.js's worker has other modules than expected");
  const { outputFiles } = await build({
    // For scripts without modules: it would keep what nothing else uses.
    stdin: { contents: contents.join("").replace(/^globalThis\.pdfjsWorker = \{[^}]*\};$/m, "") },
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2024",
    legalComments: "eof",
    logLevel: "silent",
  });
  const [worker] = outputFiles;
  if (worker !== undefined) await provideStaticFile("playground/pdf-worker.js", worker.contents);
}

/** Each in a file of its own, which the page fetches when it is chosen. The body is text, unchanged. */
async function provideExamples(): Promise<void> {
  await Promise.all(
    EXAMPLE_NAMES.map(async (name) => {
      const entry: ExampleEntry = { body: await exampleRequest(name), schema: await schemaOf(name) };
      await provideStaticFile(examplePath(name).slice(1), Buffer.from(JSON.stringify(entry)));
    }),
  );
}

function schemaOf(name: string): Promise<string> {
  return readFile(new URL(`examples/${name}/${SCHEMA_FILE}`, PROJECT), "utf8");
}

/** "accessible-letter" becomes "Accessible letter". */
function titleOf(name: string): string {
  // The hyphen of a single letter belongs to the word: "E-invoice".
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`.replace(/(?<=\w{2})-/g, " ");
}
