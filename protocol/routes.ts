/**
 * Which path takes which method, at the edge and at a backend. Both register their routes from these lists, and answer
 * 405 and OPTIONS by them.
 */
import { OPENAPI_DOCUMENT_NAME, STATIC_DOCUMENTS } from "../rules/constraints.ts";
import { CAPABILITIES_PATH } from "./capabilities.ts";
import { SERVICE_VERSION } from "./version.ts";

export interface Route {
  readonly path: string;
  /** A path that takes GET takes HEAD as well, and every path takes OPTIONS. */
  readonly method: "GET" | "POST";
}

export const METRICS_PATH = "/metrics";
export const SECURITY_TEXT_PATH = "/.well-known/security.txt";

const COMMON_ROUTES = [
  { path: "/v1/render", method: "POST" },
  { path: CAPABILITIES_PATH, method: "GET" },
  { path: "/health", method: "GET" },
  { path: METRICS_PATH, method: "GET" },
] as const satisfies readonly Route[];

export const EDGE_ROUTES = [
  ...COMMON_ROUTES,
  { path: "/v1/constraints", method: "GET" },
  { path: SECURITY_TEXT_PATH, method: "GET" },
] as const;

export const BACKEND_ROUTES = [...COMMON_ROUTES, { path: "/ready", method: "GET" }] as const;

function routesTo(paths: readonly string[]): readonly Route[] {
  return paths.map((path) => ({ path, method: "GET" }));
}

const STATIC_ROUTES = routesTo([...Object.keys(STATIC_DOCUMENTS), OPENAPI_DOCUMENT_NAME].map((name) => `/${name}`));

/** The page that shows the interface description to people. Its files are below its path. */
export const REFERENCE_PATH = "/reference";

/** The examples that the page offers, each a file of its own: the folders of `examples/`. */
export const EXAMPLE_NAMES = [
  "accessible-letter",
  "brand-letter",
  "certificate",
  "e-invoice",
  "invoice",
  "label",
  "report",
  "slides",
] as const;

export function examplePath(name: string): string {
  return `${PLAYGROUND_FILES_PATH}/example-${name}.json`;
}

const REFERENCE_FILES = [
  "reference.css",
  "reference.js",
  "swagger-ui.css",
  "swagger-ui-bundle.js",
  "swagger-ui-bundle.js.LICENSE.txt",
];

export const REFERENCE_ROUTES = routesTo([
  REFERENCE_PATH,
  ...REFERENCE_FILES.map((file) => `${REFERENCE_PATH}/${file}`),
]);

/** Pages of `docs/` that the playground leads to, and their style sheet. */
export const HELP_PATH = "/help";
export const HELP_PAGES = ["templates", "command-line"] as const;

export function helpPath(name: string): string {
  return `${HELP_PATH}/${name}`;
}

export const HELP_ROUTES = routesTo([...HELP_PAGES, "help.css", "help.js"].map(helpPath));

/** The licences of what others made, as text. The file has the extension, by which it has its type. */
export const LICENCES_PATH = "/licenses";
export const LICENCES_FILE = `${LICENCES_PATH}.txt`;

/** The page on which people try the service. Its files are below `PLAYGROUND_FILES_PATH`. */
export const PLAYGROUND_PATH = "/";
export const PLAYGROUND_FILES_PATH = "/playground";

export const PLAYGROUND_ROUTES = routesTo([
  PLAYGROUND_PATH,
  ...[
    "icon.svg",
    "playground.css",
    "playground.js",
    "missing-fonts.js",
    "pdf-viewer.css",
    "pdf-viewer.js",
    "archive-worker.js",
    "schema-worker.js",
    "compiler-worker.js",
    "template-worker.js",
    "typst-parser.bin",
    "typst-compiler.bin",
    "libertinus-serif.otf",
    "new-computer-modern-math.otf",
    "dejavu-sans-mono.ttf",
    "pdf-worker.js",
  ].map((file) => `${PLAYGROUND_FILES_PATH}/${file}`),
  ...EXAMPLE_NAMES.map(examplePath),
]);

/** The clients, packed, and their checksums. */
export const CLIENTS_PATH = "/clients";
export const CLIENT_FILES = {
  client: "document-rendering-client.tgz",
  cli: "document-rendering.tgz",
  // pip takes a wheel only under a name with its version.
  wheel: `document_rendering-${SERVICE_VERSION}-py3-none-any.whl`,
  sums: "SHA256SUMS.txt",
} as const;

/** The page that lists them. */
export const CLIENTS_PAGE = `${CLIENTS_PATH}/`;

const CLIENT_ROUTES = routesTo(["", ...Object.values(CLIENT_FILES)].map((name) => `${CLIENTS_PAGE}${name}`));

/** Paths that people and browsers try. */
export const REDIRECTS: Readonly<Record<string, string>> = {
  "/favicon.ico": `${PLAYGROUND_FILES_PATH}/icon.svg`,
  [HELP_PATH]: helpPath(HELP_PAGES[0]),
  [CLIENTS_PATH]: CLIENTS_PAGE,
};

/** All static files. */
export const FILE_ROUTES = [
  ...STATIC_ROUTES,
  ...PLAYGROUND_ROUTES,
  ...REFERENCE_ROUTES,
  ...HELP_ROUTES,
  ...routesTo([LICENCES_PATH, LICENCES_FILE]),
  ...CLIENT_ROUTES,
  ...routesTo(Object.keys(REDIRECTS)),
];

export const ALL_EDGE_ROUTES: readonly Route[] = [...EDGE_ROUTES, ...FILE_ROUTES];

/** The methods of a path as `Allow` lists them (RFC 9110, section 10.2.1); null if the path is not served. */
export function allowedMethods(routes: readonly Route[], path: string): string | null {
  const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
  if (methods.length === 0) return null;
  return [...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])), "OPTIONS"].join(", ");
}
