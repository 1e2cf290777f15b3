/** The programs that `npm run bench:peers` compares. Each is started and renders two documents. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { execa } from "execa";
import PQueue from "p-queue";
import { writeExampleProject } from "../../scripts/examples/example-project.ts";
import { exampleRequest } from "../../scripts/examples/example-request.ts";
import { LOOPBACK, startBackend, startEdge, takeFreePort } from "../../scripts/start/local-service.ts";
import { launchChromium, locateChromium } from "../../test/browser/chromium.ts";
import { locateBubblewrap, requireTypst } from "../../typst/program-location.mjs";
import { keepBusy, type Load } from "../figures.ts";
import { ask } from "../http-client.ts";
import { childProcessIds } from "./resident-memory.ts";

export const DOCUMENT_NAMES = ["hello", "invoice"] as const;
export type DocumentName = (typeof DOCUMENT_NAMES)[number];

/** How many documents each peer makes at a time, whatever the number of clients. */
const WORKERS = availableParallelism();

/** The number of the example's invoice. Each request has a different one, so that no peer can reuse an answer. */
const EXAMPLE_NUMBER = "TH-2026-0417";
const PLACEHOLDER = "REQUEST_NUMBER";
let lastNumber = 10_000;

const PYTHON_PACKAGES = ["typst==0.15.2", "weasyprint==70.0"];
const INSTALL_TIMEOUT_MILLISECONDS = 120_000;

const PAGES = fileURLToPath(new URL(".", import.meta.url));
const FONTS = fileURLToPath(new URL("../../node_modules/pdfjs-dist/standard_fonts/", import.meta.url));
const FONT_FILES = ["LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf", "LiberationSans-Italic.ttf"];

export interface Peer {
  /** The current processes of the peer, without their descendants. */
  processIds(): readonly number[];
  /** Requests documents with this many clients, each of which sends its next request as soon as it has its answer. */
  load(document: DocumentName, clients: number, seconds: number): Promise<Load>;
  stop(): Promise<void>;
}

/** Starts a peer, which may write to its own folder. */
type Start = (folder: string) => Promise<Peer>;

export interface PeerKind {
  readonly name: string;
  readonly sandbox: string;
  readonly pdfUa: string;
  readonly start: Start;
}

export const PEER_KINDS: readonly PeerKind[] = [
  { name: "this service", sandbox: "yes", pdfUa: "checked", start: startService },
  { name: "`typst compile`", sandbox: "no", pdfUa: "checked", start: startCommandLine },
  {
    name: "Typst in process (typst-py), a Python server",
    sandbox: "no",
    pdfUa: "checked",
    start: (folder) => startPythonServer("typst", folder),
  },
  {
    name: "WeasyPrint, the same Python server",
    sandbox: "no",
    pdfUa: "not checked",
    start: (folder) => startPythonServer("weasyprint", folder),
  },
  { name: "headless Chromium", sandbox: "no", pdfUa: "no", start: startChromium },
];

/** Edge and backend, as `npm start` runs them. */
async function startService(): Promise<Peer> {
  const typstPath = await requireTypst();
  const token = "bench";
  const backend = await startBackend(
    { SERVICE_TYPST_BIN: typstPath, SERVICE_BACKEND_TOKENS: token, SERVICE_LOG_LEVEL: "error" },
    await takeFreePort(),
  );
  const others = await childProcessIds(process.pid);
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: token,
      SERVICE_BACKEND_TOKEN: token,
      SERVICE_BACKEND_URLS: backend.url.origin,
      SERVICE_LOG_REQUESTS: "none",
    },
    0,
  );
  const workerd = (await childProcessIds(process.pid)).filter((id) => !others.includes(id));
  const url = new URL("/v1/render", edge.url);
  const headers = { "Content-Type": "application/json", "X-Service-Api-Token": token };
  const invoice = await exampleRequest("invoice");
  return {
    processIds: () => [...(backend.process.pid === undefined ? [] : [backend.process.pid]), ...workerd],
    load: loadBy((document, number) => {
      const hello = () => JSON.stringify({ source: `= Hello ${number}` });
      return ask(url, "POST", headers, document === "hello" ? hello() : invoice.replaceAll(EXAMPLE_NUMBER, number));
    }),
    stop: async () => {
      await edge.stop();
      await backend.stop();
    },
  };
}

/** The command line, started by a shell: as many processes at a time as there are clients, each with one thread. */
async function startCommandLine(folder: string): Promise<Peer> {
  const typstPath = await requireTypst();
  for (const document of DOCUMENT_NAMES) await mkdir(join(folder, document));
  await writeFile(join(folder, "hello", "main.typ"), "= Hello 10000");
  await writeExampleProject("invoice", join(folder, "invoice"));
  // Of $2 clients, for $1 microseconds: the microseconds of each run.
  const script = `
    now() { time=\${EPOCHREALTIME//[^0-9]/}; }
    now; end=$((time + $1))
    client() {
      while now && [ $time -lt $end ]; do
        start=$time; "$0" compile --ignore-system-fonts --jobs 1 main.typ "out-$1.pdf" || exit 1; now; echo $((time - start))
      done
    }
    for client in $(seq "$2"); do client $client & done; wait`;
  let shell: number | undefined;
  return {
    processIds: () => (shell === undefined ? [] : [shell]),
    load: async (document, clients, seconds) => {
      const started = performance.now();
      const commands = execa("bash", ["-c", script, typstPath, String(seconds * 1e6), String(clients)], {
        cwd: join(folder, document),
        stdin: "ignore",
      });
      shell = commands.pid;
      const { stdout } = await commands;
      shell = undefined;
      const milliseconds = stdout.split("\n").map((line) => Number(line) / 1000);
      return { milliseconds, seconds: (performance.now() - started) / 1000 };
    },
    stop: async () => {},
  };
}

async function startPythonServer(kind: "typst" | "weasyprint", folder: string): Promise<Peer> {
  if (kind === "typst") await writeTypstTemplates(folder);
  else await writePages(folder);
  const python = await pythonEnvironment(join(folder, ".."));
  const server = spawn(python, [join(PAGES, "server.py"), kind, folder, String(WORKERS)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const port = await Promise.race([
    once(server.stdout, "data").then(([line]) => Number(line)),
    once(server, "exit").then(() => Promise.reject(new Error("the Python server has ended"))),
  ]);
  return {
    processIds: () => (server.pid === undefined ? [] : [server.pid]),
    load: loadBy((document, number) => ask(new URL(`http://${LOOPBACK}:${port}/${document}`), "POST", {}, number)),
    stop: () => endOf(server, () => server.stdin.end()),
  };
}

let environment: Promise<string> | undefined;

/** The Python of a virtual environment with the packages, made once. */
function pythonEnvironment(folder: string): Promise<string> {
  environment ??= (async () => {
    const place = join(folder, "python");
    const options = { stdin: "ignore", timeout: INSTALL_TIMEOUT_MILLISECONDS } as const;
    await execa("python3", ["-m", "venv", place], options);
    const python = join(place, "bin", "python");
    await execa(python, ["-m", "pip", "install", "--quiet", "--only-binary=:all:", ...PYTHON_PACKAGES], options);
    return python;
  })();
  return environment;
}

/** The documents as templates that get their data from the program that compiles them. */
async function writeTypstTemplates(folder: string): Promise<void> {
  const data = "#let data = json(bytes(sys.inputs.data))\n";
  await writeExampleProject("invoice", folder);
  const { source, data: invoice } = JSON.parse(await exampleRequest("invoice"));
  await writeFile(join(folder, "invoice.typ"), data + source);
  await writeFile(join(folder, "invoice.json"), JSON.stringify(invoice).replaceAll(EXAMPLE_NUMBER, PLACEHOLDER));
  await writeFile(join(folder, "hello.typ"), `${data}= Hello #data`);
  await writeFile(join(folder, "hello.json"), JSON.stringify(PLACEHOLDER));
}

/** The same documents in HTML. */
async function writePages(folder: string): Promise<void> {
  for (const file of ["hello.html", "invoice.html", "fonts.css"]) await copyFile(join(PAGES, file), join(folder, file));
  for (const file of FONT_FILES) await copyFile(join(FONTS, file), join(folder, file));
  await cp(fileURLToPath(new URL("../../examples/invoice/assets", import.meta.url)), join(folder, "assets"), {
    recursive: true,
  });
}

/**
 * Each document is a new page, which is closed afterwards. There is no HTTP: playwright drives Chromium from this
 * process.
 */
async function startChromium(folder: string): Promise<Peer> {
  const bubblewrap = await locateBubblewrap();
  if ("error" in bubblewrap) throw new Error(bubblewrap.error);
  await writePages(folder);
  const others = await childProcessIds(process.pid);
  const { browser, stop } = await launchChromium(await locateChromium(), bubblewrap.path);
  const processes = (await childProcessIds(process.pid)).filter((id) => !others.includes(id));
  const pages = {
    hello: await readFile(join(folder, "hello.html"), "utf8"),
    invoice: await readFile(join(folder, "invoice.html"), "utf8"),
  };
  const queue = new PQueue({ concurrency: WORKERS });
  return {
    processIds: () => processes,
    load: loadBy((document, number) =>
      queue.add(async () => {
        const file = join(folder, `${number}.html`);
        await writeFile(file, pages[document].replaceAll(PLACEHOLDER, number));
        const page = await browser.newPage();
        await page.goto(pathToFileURL(file).href);
        await page.pdf({ preferCSSPageSize: true, printBackground: true, tagged: true });
        await page.close();
        await rm(file);
      }),
    ),
    stop,
  };
}

/** @param render makes a document that contains the number. */
function loadBy(render: (document: DocumentName, number: string) => Promise<unknown>): Peer["load"] {
  return (document, clients, seconds) => keepBusy(clients, seconds, () => render(document, String(++lastNumber)));
}

async function endOf(child: ChildProcess, end: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  end();
  await ended;
}
