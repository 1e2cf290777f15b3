/**
 * The layers of the project, as `npm run check:layers` enforces them. docs/architecture.md draws them.
 *
 * Type imports count like all others: code that uses a type of another layer depends on that layer.
 */

const NODE = "^(node:)?[a-z_/]+$";
const ANY_PACKAGE = "^node_modules/";
/** The packages of the rules are small, pure, and the same in browsers, Workers and Node. */
const PURE_PACKAGES = "^node_modules/(content-disposition|content-type|valibot)/";
/** It knows nothing of invoices. */
const READER_OF_PDFS = "^clients/e-invoice/pdf-(file|syntax)\\.ts$";
/** What a program of Node imports beside its own layers. */
const OF_NODE = [NODE, ANY_PACKAGE, "^package\\.json$"];

/** All of `edge/backends/` but the file that asks backends. */
const DECIDING_ON_BACKENDS = "^edge/backends/(?!backend\\.ts$)";
const WITHOUT_IO = [
  DECIDING_ON_BACKENDS,
  "^(rules|protocol(?!/node))/",
  "^edge/(clock|body/body-memory|platform/platform)\\.ts$",
];
/** All of `edge/` that runs on every platform. */
const EDGE_ITSELF = "^edge/(?!platform/(cloudflare|node)/)";
const PARSERS_OF_ADDRESSES = "^edge/backends/backend-address\\.ts$";

/** Who may import what, and nothing else: the rule's name, the importing files, what they may import, and why. */
// biome-ignore format: a table.
const ONLY = [
  ["rules-are-pure", "^rules/", ["^rules/", PURE_PACKAGES], "They come to the same verdict everywhere: no platform, no I/O."],
  ["json-stands-alone", "^rules/json/", ["^rules/json/"], "It reads bytes and knows nothing of render requests."],
  ["protocol-is-pure", "^protocol/(?!node/)", ["^protocol/(?!node/)", "^rules/", PURE_PACKAGES], "Edge, backend and clients share it."],
  ["files-of-typst-are-read-anywhere", "^typst/(fonts|finished-pdf)/", ["^typst/(fonts|finished-pdf)/", "^rules/", PURE_PACKAGES], "Backend, client and page read them, and no platform is asked."],
  ["typst-stands-below-the-programs", "^typst/.*\\.ts$", ["^(typst|rules)/", NODE], "The backend and developers' machines share it."],
  ["finding-programs-is-bare", "^typst/.*\\.mjs$", ["^typst/.*\\.mjs$", NODE], "It runs on machines that may have no packages yet."],
  ["edge-names-no-platform", EDGE_ITSELF, [EDGE_ITSELF, "^(rules|protocol(?!/node))/"], "It runs on Cloudflare and in Node, and only HTTP leads to backends."],
  ["edge-on-cloudflare", "^edge/platform/cloudflare/", [EDGE_ITSELF, "^edge/platform/cloudflare/", "^(rules|protocol(?!/node))/", "^cloudflare:"], "A Worker has no Node."],
  ["edge-on-node", "^edge/platform/node/", [EDGE_ITSELF, "^edge/platform/node/", "^(rules|protocol)/", NODE], "It has no packages."],
  ["servers-of-node-share", "^protocol/node/", ["^(protocol|rules)/", NODE], "Edge and backend share it, and it knows neither."],
  ["edge-settings-are-inside", "^edge/(settings|clock)\\.ts$", ["^(rules|protocol)/", PARSERS_OF_ADDRESSES], "They know nothing of what reads them."],
  ["choice-of-backends-does-no-io", DECIDING_ON_BACKENDS, WITHOUT_IO, "Clock, random numbers and I/O are passed in, so that a test decides on them. biome.json denies it the globals."],
  ["backend-runs-in-node", "^backend/", ["^(backend|rules|protocol|typst)/", ...OF_NODE], "Edge, clients, scripts and tests are no part of it."],
  ["admission-knows-nobody", "^backend/admission/", ["^(backend/admission|rules)/"], "It counts slots and bytes without knowing what a render is."],
  ["backend-leaves", "^backend/(settings|work-directory/paths)\\.ts$", ["^(rules|protocol|typst)/", NODE, "^backend/work-directory/paths\\.ts$"], "They know nothing of what reads them."],
  ["client-is-portable", "^clients/typescript/", ["^(clients/typescript|protocol(?!/node)|rules)/", "^node_modules/content-disposition/"], "It runs in browsers, Node and Workers."],
  ["document-is-portable", "^clients/document/", ["^(clients/(document|data-schema|template|typescript)|protocol(?!/node)|rules|typst/fonts)/", READER_OF_PDFS, "^node_modules/(fflate|saxes)/"], "It runs in browsers and Node."],
  ["e-invoice-stands-alone", "^clients/e-invoice/", ["^clients/e-invoice/", "^node_modules/(fflate|saxes)/"], "It finishes a PDF wherever that came from."],
  ["data-schema-is-portable", "^clients/data-schema/", ["^(clients/data-schema|rules/json)/", "^node_modules/@hyperjump/(json-schema|browser)/"], "It runs in browsers and Node."],
  ["template-is-portable", "^clients/template/(?!node-parser\\.ts$)", ["^(clients/(template|data-schema)|rules)/", "^node_modules/(smol-toml|valibot)/"], "It runs in browsers and Node, each of which provides the parser."],
  ["cli-is-a-client", "^clients/command-line/", ["^(clients/(command-line|typescript|document|data-schema|e-invoice|template)|protocol|rules|typst)/", ...OF_NODE], "It calls the service, and compiles as the service does."],
  ["playground-is-a-client", "^clients/playground/", ["^(clients/(playground|typescript|document|data-schema|template)|protocol(?!/node)|rules|typst/(fonts|finished-pdf)|node_modules)/"], "It runs in browsers."],
];

/** Folders and files from the outermost inwards. Each may import those after it, never those before it. */
const INWARDS = {
  backend: [
    ...["main.ts", "start/", "http/", "observe/", "render/", "admission/", "compiler/", "sandbox/", "launcher/"],
    ...["settings.ts", "work-directory/", "processes/", "error-log.ts"],
  ],
  edge: [
    ...["platform/(cloudflare|node)/", "app.ts", "routes/", "guards/", "problem-answer.ts", "requests/"],
    ...["context.ts", "gathered/", "log/", "settings.ts", "backends/", "body/", "clock.ts"],
  ],
  "clients/command-line": ["commands/", "cases/", "each/", "local/", "fonts/", "project/", "packages/", "files/"],
  // What a person sees, from the result to the parts of which all of the page is made.
  "clients/playground": ["result/", "render/", "checks/", "output/", "files/", "editor/", "drafts/", "page/"],
};

const inwardRules = Object.entries(INWARDS).flatMap(([room, members]) => {
  const pathOf = (...names) => `^${room}/(${names.join("|").replaceAll(".", "\\.")})`;
  return members.slice(1).map((member, index) => ({
    name: `${room}-imports-inwards`,
    comment: `${room}/${member} imports nothing from ${members.slice(0, index + 1).join(", ")}.`,
    from: { path: pathOf(member) },
    to: { path: pathOf(...members.slice(0, index + 1)) },
  }));
});

export default {
  forbidden: [
    ...ONLY.map(([name, path, pathNot, comment]) => ({ name, comment, from: { path }, to: { pathNot } })),
    ...inwardRules,
    {
      name: "choice-of-backends-gets-its-clock",
      comment: "What decides about backends knows the type of a clock, and no clock.",
      from: { path: DECIDING_ON_BACKENDS },
      to: { path: "^edge/clock\\.ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "edge-without-containers",
      comment: "Only one entry point needs the class of the containers.",
      from: { path: "^edge/", pathNot: "^edge/platform/cloudflare/worker-with-containers\\.ts$" },
      to: { path: "^edge/platform/cloudflare/backend-container\\.ts$" },
    },
    {
      name: "one-reader-of-the-disk",
      comment:
        "What a project sends follows from the arguments and from what this one says. folder.ts reads pipes as well.",
      from: { path: "^clients/command-line/(files|packages|project)/", pathNot: "/files/(disk|folder)\\.ts$" },
      to: { path: "^(node:)?fs(/|$)" },
    },
    {
      name: "nobody-imports-the-command",
      comment:
        "What others need of it belongs into clients/document/, clients/typescript/ or rules/. docs/doctor.md is made from its checks.",
      from: { pathNot: ["^(clients/command-line|test)/", "^scripts/generate/generated-files\\.ts$"] },
      to: { path: "^clients/command-line/" },
    },
    {
      name: "nobody-imports-the-program",
      comment: "main.ts, and the run.ts that it imports, start a backend.",
      from: { pathNot: "^backend/main\\.ts$" },
      to: { path: "^(backend/main|backend/start/run|scripts/start)\\.ts$" },
    },
    {
      name: "set-up-runs-on-a-bare-machine",
      comment: "The set-up runs before node_modules exists and on a Node that reads no TypeScript.",
      from: { path: "^scripts/set-up\\.mjs$" },
      to: { path: "(^node_modules/|\\.ts$)", reachable: true },
    },
    {
      name: "every-import-is-found",
      comment: "An import that this check cannot follow is one that it cannot check.",
      from: {},
      // The modules of workerd itself are no files.
      to: { couldNotResolve: true, pathNot: "^cloudflare:" },
    },
  ].map((rule) => ({ severity: "error", ...rule })),
  options: {
    // TypeScript 7 has no interface for other programs; swc reads the same syntax.
    parser: "swc",
    doNotFollow: { path: "^node_modules/" },
    // What is served to browsers: bundles that are built there.
    exclude: { path: "^edge/static/" },
    // node_modules may be a symbolic link.
    preserveSymlinks: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
