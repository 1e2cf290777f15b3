/**
 * The layers of the project, as `npm run check:layers` enforces them. docs/architecture.md draws them.
 *
 * Type imports count like all others: code that uses a type of another layer depends on that layer.
 */

/** The packages that each may import. Those of the rules are small, pure, and the same in browsers, Workers and Node. */
const PACKAGES = {
  rules: "^node_modules/(content-disposition|content-type|valibot)/",
  client: "^node_modules/(content-disposition|fflate)/",
  eInvoice: "^node_modules/(fflate|saxes)/",
  dataSchema: "^node_modules/@hyperjump/(json-schema|browser)/",
};

/** The files of `edge/backends/` that talk to backends. The others decide. */
const BACKEND_TRANSPORT = "(backend|look-up-service)\\.ts$";
const DECIDING_ON_BACKENDS = { path: "^edge/backends/", pathNot: `^edge/backends/${BACKEND_TRANSPORT}` };

/** The folders of the backend from the outermost inwards. Each may import those after it, never those before it. */
const BACKEND_FOLDERS = [
  ...["start", "http", "observe", "render", "typst", "sandbox", "launcher"],
  ...["work-directory", "processes"],
];

/** Those of the edge, and of the command line, in the same order. */
const EDGE_FOLDERS = ["routes", "guards", "requests", "gathered", "log", "backends", "body"];
const COMMAND_LINE_FOLDERS = ["commands", "cases", "preview", "each", "local", "project"];

/** Those of the playground: what a person sees, from the result to the parts of which all of the page is made. */
const PLAYGROUND_FOLDERS = ["result", "render", "checks", "output", "files", "editor", "drafts", "page"];

/** Rules by which each folder imports none of those before it, so that there is no circle. */
function importsInwards(room, folders) {
  return folders.slice(1).map((folder, index) => {
    const outer = folders.slice(0, index + 1);
    return {
      name: `${folder}-imports-inwards`,
      comment: `${room}/${folder}/ imports nothing from ${outer.join("/, ")}/.`,
      from: { path: `^${room}/${folder}/` },
      to: { path: `^${room}/(${outer.join("|")})/` },
    };
  });
}

export default {
  forbidden: [
    {
      name: "rules-are-pure",
      comment: "rules/ imports itself and its few packages: no node:*, no platform, no I/O.",
      from: { path: "^rules/" },
      to: { pathNot: ["^rules/", PACKAGES.rules] },
    },
    {
      name: "json-stands-alone",
      comment: "rules/json/ reads bytes and does not depend on render requests.",
      from: { path: "^rules/json/" },
      to: { pathNot: "^rules/json/" },
    },
    {
      name: "protocol-is-pure",
      comment:
        "protocol/ is what edge, backend and clients say to each other in HTTP: as pure as rules/, which it may import.",
      from: { path: "^protocol/" },
      to: { pathNot: ["^(protocol|rules)/", PACKAGES.rules] },
    },
    {
      name: "typst-stands-below-the-programs",
      comment: "typst/ is how Typst is found and called, in the backend and on a developer's machine alike.",
      from: { path: "^typst/.*\\.ts$" },
      to: { pathNot: ["^(typst|rules)/", "^(node:)?[a-z_/]+$"] },
    },
    {
      name: "finding-programs-is-bare",
      comment:
        "What finds programs, the .mjs files of typst/, runs on a machine that may have no packages yet: it imports itself and Node.",
      from: { path: "^typst/.*\\.mjs$" },
      to: { path: "^[a-z_-]+/", pathNot: "^typst/.*\\.mjs$", dependencyTypesNot: ["core"] },
    },
    {
      name: "client-is-portable",
      comment:
        "clients/typescript/ runs in browsers, Node and Workers: it imports rules/, protocol/, itself and its packages.",
      from: { path: "^clients/typescript/" },
      to: { pathNot: ["^(clients/typescript|protocol|rules)/", PACKAGES.client] },
    },
    {
      name: "e-invoice-stands-alone",
      comment: "clients/e-invoice/ finishes a PDF wherever it came from: it imports itself and its packages.",
      from: { path: "^clients/e-invoice/" },
      to: { pathNot: ["^clients/e-invoice/", PACKAGES.eInvoice] },
    },
    {
      name: "data-schema-is-portable",
      comment:
        "clients/data-schema/ judges data in Node and in browsers alike: it imports rules/json/, itself and its packages.",
      from: { path: "^clients/data-schema/" },
      to: { pathNot: ["^(clients/data-schema|rules/json)/", PACKAGES.dataSchema] },
    },
    {
      name: "service-without-its-clients",
      comment:
        "What calls the service, judges data or finishes files for its callers is no part of it: edge and backend are the service.",
      from: { path: "^(edge|backend)/" },
      // Nobody imports the command line: see nobody-imports-the-command.
      to: { path: "^clients/", pathNot: "^clients/command-line/" },
    },
    {
      name: "cli-is-a-client",
      comment:
        "clients/command-line/ imports other clients, protocol/ and rules/, and typst/ to compile on this machine as the service does.",
      from: { path: "^clients/command-line/" },
      to: { path: "^(backend|edge|scripts|test|bench)/" },
    },
    {
      name: "nobody-imports-the-command",
      comment:
        "clients/command-line/ is a program: what others need of it belongs into clients/typescript/ or rules/. Only docs/doctor.md is made from its checks.",
      from: { pathNot: ["^(clients/command-line|test)/", "^scripts/generate/generated-files\\.ts$"] },
      to: { path: "^clients/command-line/" },
    },
    {
      name: "playground-is-a-client",
      comment:
        "clients/playground/ runs in browsers: it imports itself, the client, clients/data-schema/, the rules and packages for browsers.",
      from: { path: "^clients/playground/" },
      to: { pathNot: "^(clients/(playground|typescript|data-schema)|protocol|rules|node_modules)/" },
    },
    {
      name: "edge-without-backend",
      comment: "The edge runs in workerd, in another process than the backend: they share rules/ and protocol/.",
      from: { path: "^edge/" },
      to: { path: "^(backend|typst|scripts|test|bench)/" },
    },
    {
      name: "edge-without-node",
      comment: "The edge runs in workerd: no node:* modules.",
      from: { path: "^edge/" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "choice-of-backends-does-no-io",
      comment:
        "What decides about backends gets its clock, its random numbers and whatever talks to a backend passed in, so that the simulation runs it. biome.json denies it the globals.",
      from: DECIDING_ON_BACKENDS,
      to: {
        path: "^(edge/|node_modules/)",
        pathNot: [`^edge/backends/(?!${BACKEND_TRANSPORT})`, "^edge/(clock|body/(body-memory|held-body))\\.ts$"],
      },
    },
    {
      name: "choice-of-backends-gets-its-clock",
      comment: "The same files know the type of a clock, and no clock.",
      from: DECIDING_ON_BACKENDS,
      to: { path: "^edge/clock\\.ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "edge-without-containers",
      comment:
        "Only its own entry point needs the class of the containers: the edge runs where there are none. The spans of the platform and its sockets are part of workerd.",
      from: {
        path: "^edge/",
        pathNot:
          "^edge/(worker-with-containers|containers/backend-container|requests/request-log|backends/look-up-service)\\.ts$",
      },
      to: { path: "^(edge/containers/backend-container\\.ts$|cloudflare:)" },
    },
    {
      name: "backend-without-edge",
      comment:
        "The backend imports rules/, protocol/, typst/ and packages for Node, never the edge, the scripts or the tests.",
      from: { path: "^backend/" },
      to: { path: "^(edge|scripts|test|bench)/" },
    },
    {
      name: "admission-knows-nobody",
      comment: "Slots, queue and budgets are counted without knowing what a render is.",
      from: { path: "^backend/admission/" },
      to: { path: "^(backend|typst)/", pathNot: "^backend/admission/" },
    },
    {
      name: "admission-is-above-typst",
      comment: "Code that starts Typst never asks for a slot: its caller has one.",
      from: { path: "^backend/(typst|launcher|sandbox|work-directory)/" },
      to: { path: "^backend/admission/" },
    },
    {
      name: "backend-leaves",
      comment:
        "Every folder of the backend knows the settings, the paths that they name and what may be logged of an error: these know none.",
      from: { path: "^backend/(settings|error-log|work-directory/paths)\\.ts$" },
      to: { path: "^backend/", pathNot: "^backend/work-directory/paths\\.ts$" },
    },
    ...importsInwards("backend", BACKEND_FOLDERS),
    ...importsInwards("edge", EDGE_FOLDERS),
    ...importsInwards("clients/command-line", COMMAND_LINE_FOLDERS),
    ...importsInwards("clients/playground", PLAYGROUND_FOLDERS),
    {
      name: "edge-settings-are-inside",
      comment: "Whatever knows the edge's settings is known by none of what reads them.",
      from: { path: "^edge/(settings|clock)\\.ts$" },
      to: { path: "^edge/", pathNot: "^edge/backends/(backend-address|name-servers)\\.ts$" },
    },
    {
      name: "edge-backends-without-settings",
      comment: "The settings are read by functions of these folders, which get what they need passed in.",
      from: { path: "^edge/(backends|body)/" },
      to: { path: "^edge/settings\\.ts$" },
    },
    {
      name: "edge-context-is-outside",
      comment: "The context of a request is put together from these folders, so they do not know it.",
      from: { path: "^edge/(gathered|log|backends|body)/" },
      to: { path: "^edge/(context|problem-response)\\.ts$" },
    },
    {
      name: "nobody-imports-the-program",
      comment:
        "main.ts and the run.ts that it imports put the backend together and start it; importing them would start one.",
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
    // node_modules may be a symbolic link.
    preserveSymlinks: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
