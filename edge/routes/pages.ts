/**
 * The pages for people and the files that they are made of, all static. Each page has its own policy, by which it runs
 * and asks nothing but what this deployment serves.
 */
import {
  CLIENTS_PAGE,
  HELP_PAGES,
  helpPath,
  LICENCES_FILE,
  LICENCES_PATH,
  PLAYGROUND_FILES_PATH,
  PLAYGROUND_PATH,
  REDIRECTS,
  REFERENCE_PATH,
} from "../../protocol/routes.ts";
import type { EdgeContext } from "../context.ts";
import type { Answer } from "../platform/platform.ts";

interface Page {
  readonly file: string;
  readonly imageSources: string;
}

const PAGES: Readonly<Record<string, Page | undefined>> = {
  // `blob:` are the files that have been rendered.
  [PLAYGROUND_PATH]: { file: `${PLAYGROUND_FILES_PATH}/index.html`, imageSources: "'self' blob:" },
  // `data:` are the viewer's icons, `blob:` the pictures that it has rendered.
  [REFERENCE_PATH]: { file: `${REFERENCE_PATH}/index.html`, imageSources: "'self' data: blob:" },
  [CLIENTS_PAGE]: { file: `${CLIENTS_PAGE}index.html`, imageSources: "'self'" },
  [LICENCES_PATH]: { file: LICENCES_FILE, imageSources: "'none'" },
  ...Object.fromEntries(
    HELP_PAGES.map(helpPath).map((path) => [path, { file: `${path}/index.html`, imageSources: "'self'" }]),
  ),
};

/** The compiler, and what reads templates by Typst's parser. */
const WORKERS_WITH_WEBASSEMBLY: ReadonlySet<string> = new Set(
  ["compiler-worker.js", "template-worker.js", "missing-fonts.js"].map((file) => `${PLAYGROUND_FILES_PATH}/${file}`),
);
/** A worker has a policy of its own. These compile WebAssembly and fetch from this deployment, and do nothing else. */
const WORKER_POLICY = "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'";

export async function answerStaticFile({ path, platform, request }: EdgeContext): Promise<Answer> {
  const place = REDIRECTS[path];
  // Relative, as are the links of the pages: a proxy may serve the deployment below a path.
  if (place !== undefined) return { status: 302, headers: { Location: place.slice(1) }, body: null };
  const page = PAGES[path];
  // By the path that the route matched: the asset server would redirect other spellings of it.
  const file = await platform.staticFile(page?.file ?? path, request);
  const own = {
    ...(page !== undefined && pageHeaders(page)),
    ...(WORKERS_WITH_WEBASSEMBLY.has(path) && { "Content-Security-Policy": WORKER_POLICY }),
  };
  return { ...file, headers: { ...file.headers, ...own } };
}

function pageHeaders({ imageSources }: Page) {
  return {
    "Content-Security-Policy": `default-src 'none'; script-src 'self'; style-src 'self'; img-src ${imageSources}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    // A page that has opened this one, or that this one opens, has no hold on it.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
  };
}
