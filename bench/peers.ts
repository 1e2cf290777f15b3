/** `npm run bench:peers`, as the superuser: the processor time of this service beside other ways to make a PDF. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { execa } from "execa";
import { writeExampleProject } from "../scripts/examples/example-project.ts";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { launchChromium, locateChromium } from "../test/browser/chromium.ts";
import { locateBubblewrap, requireTypst } from "../typst/program-location.mjs";
import { startCountedService } from "./counted-service.ts";
import { median } from "./figures.ts";
import { closeConnections } from "./http-client.ts";
import { countProcessorTime } from "./processor-time.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

const ROUNDS = 5;
const ROUND_SECONDS = 2;
/** For each document. An engine that compiles as it runs gets faster for half a minute in all. */
const WARM_UP_SECONDS = 15;
const BATCH = 10;

const DOCUMENTS = ["hello", "invoice"] as const;
type DocumentName = (typeof DOCUMENTS)[number];

/** The number of the example's invoice. Each request has a different one, so that no peer can reuse an answer. */
const EXAMPLE_NUMBER = "TH-2026-0417";
const PLACEHOLDER = "REQUEST_NUMBER";
let nextNumber = 10_000;

const PYTHON_PACKAGES = ["typst==0.15.2", "weasyprint==70.0"];
const INSTALL_TIMEOUT_MILLISECONDS = 300_000;

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

interface Peer {
  /** Makes `BATCH` documents, one after the other, with the numbers from `first` in their texts. */
  render(document: DocumentName, first: number): Promise<unknown>;
  milliseconds(): number | Promise<number>;
  stop(): Promise<void>;
}

const PEERS = [
  { name: "this service", sandbox: "yes", pdfUa: "checked", start: startService },
  { name: "`typst compile`", sandbox: "no", pdfUa: "checked", start: startCommandLine },
  { name: "Typst in process (typst-py)", sandbox: "no", pdfUa: "checked", start: startTypstInProcess },
  { name: "WeasyPrint", sandbox: "no", pdfUa: "not checked", start: startWeasyPrint },
  { name: "headless Chromium", sandbox: "no", pdfUa: "no", start: startChromium },
] as const;

async function startService(folder: string): Promise<Peer> {
  const service = await startCountedService(folder);
  const bodies = {
    hello: JSON.stringify({ source: `= Hello ${EXAMPLE_NUMBER}` }),
    invoice: await exampleRequest("invoice"),
  };
  return {
    render: async (document, first) => {
      for (let number = first; number < first + BATCH; number++) {
        await service.render(bodies[document].replaceAll(EXAMPLE_NUMBER, String(number)));
      }
    },
    milliseconds: async () => Object.values(await service.milliseconds()).reduce((sum, part) => sum + part, 0),
    stop: service.stop,
  };
}

/** Starts a program that reads lines such as `invoice 10000 10`, and writes an empty one when it has rendered these. */
async function startProgram(name: string, program: string, args: readonly string[]): Promise<Peer> {
  const time = countProcessorTime(name);
  const child = await time.whileStarting(async () => spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] }));
  const ended = once(child, "exit");
  return {
    render: (document, first) => {
      child.stdin.write(`${document} ${first} ${BATCH}\n`);
      const failed = ended.then(() => Promise.reject(new Error(`${name} has ended`)));
      return Promise.race([once(child.stdout, "data"), failed]);
    },
    milliseconds: time.milliseconds,
    stop: async () => {
      child.stdin.end();
      await ended;
      await time.remove();
    },
  };
}

/** Its documents have no numbers: each process is new. */
async function startCommandLine(folder: string): Promise<Peer> {
  for (const document of DOCUMENTS) await mkdir(join(folder, document), { recursive: true });
  await writeFile(join(folder, "hello", "main.typ"), "= Hello 10000");
  await writeExampleProject("invoice", join(folder, "invoice"));
  const script = `while read -r document _ count; do
    for index in $(seq "$count"); do
      "$0" compile --ignore-system-fonts --jobs 1 "$1/$document/main.typ" "$1/out.pdf" || exit 1
    done
    echo
  done`;
  return startProgram("command-line", "bash", ["-c", script, await requireTypst(), folder]);
}

/** The documents are templates that get their data from the program that compiles them. */
async function startTypstInProcess(folder: string): Promise<Peer> {
  const data = "#let data = json(bytes(sys.inputs.data))\n";
  await writeExampleProject("invoice", folder);
  await rm(join(folder, "main.typ"));
  const { source, data: invoice } = JSON.parse(await exampleRequest("invoice"));
  await writeFile(join(folder, "invoice.typ"), data + source);
  await writeFile(join(folder, "invoice.json"), JSON.stringify(invoice).replaceAll(EXAMPLE_NUMBER, PLACEHOLDER));
  await writeFile(join(folder, "hello.typ"), `${data}= Hello #data`);
  await writeFile(join(folder, "hello.json"), JSON.stringify(PLACEHOLDER));
  return startRenderer("typst", folder);
}

async function startWeasyPrint(folder: string): Promise<Peer> {
  await writePages(folder);
  return startRenderer("weasyprint", folder);
}

/** Starts the program in Python, in a virtual environment with the packages beside the folders of the peers. */
async function startRenderer(kind: "typst" | "weasyprint", folder: string): Promise<Peer> {
  const place = join(folder, "..", "python");
  const options = { stdin: "ignore", timeout: INSTALL_TIMEOUT_MILLISECONDS } as const;
  await execa("python3", ["-m", "venv", place], options);
  const python = join(place, "bin", "python");
  await execa(python, ["-m", "pip", "install", "--quiet", "--only-binary=:all:", ...PYTHON_PACKAGES], options);
  return startProgram(kind, python, [pathOf("peers/renderer.py"), kind, folder]);
}

async function writePages(folder: string): Promise<void> {
  const invoice = await readFile(pathOf("peers/invoice.html"), "utf8");
  const fonts = invoice.match(/@font-face .*/g)?.join("");
  const head = `<title>Hello</title><style>${fonts} body { font-family: Liberation, sans-serif; }</style>`;
  await writeFile(join(folder, "invoice.html"), invoice);
  await writeFile(join(folder, "hello.html"), `<!doctype html>${head}<h1>Hello ${PLACEHOLDER}</h1>`);
  for (const file of ["LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"]) {
    await copyFile(pathOf(`../node_modules/pdfjs-dist/standard_fonts/${file}`), join(folder, file));
  }
  await cp(pathOf("../examples/invoice/assets"), join(folder, "assets"), { recursive: true });
}

/** Each document is a new page, which is closed afterwards. There is no HTTP: playwright drives Chromium. */
async function startChromium(folder: string): Promise<Peer> {
  const bubblewrap = await locateBubblewrap();
  if ("error" in bubblewrap) throw new Error(bubblewrap.error);
  await writePages(folder);
  const executable = await locateChromium();
  const time = countProcessorTime("chromium");
  const { browser, stop } = await time.whileStarting(() => launchChromium(executable, bubblewrap.path));
  const file = join(folder, "page.html");
  return {
    render: async (document, first) => {
      const text = await readFile(join(folder, `${document}.html`), "utf8");
      for (let index = 0; index < BATCH; index++) {
        await writeFile(file, text.replaceAll(PLACEHOLDER, String(first + index)));
        const page = await browser.newPage();
        await page.goto(pathToFileURL(file).href);
        await page.pdf({ preferCSSPageSize: true, printBackground: true, tagged: true });
        await page.close();
      }
    },
    milliseconds: time.milliseconds,
    stop: async () => {
      await stop();
      await time.remove();
    },
  };
}

async function measure(peer: Peer, document: DocumentName, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  const before = await peer.milliseconds();
  let count = 0;
  for (; performance.now() < end; count += BATCH) {
    await peer.render(document, nextNumber);
    nextNumber += BATCH;
  }
  return ((await peer.milliseconds()) - before) / count;
}

interface Measured {
  readonly kind: (typeof PEERS)[number];
  readonly peer: Peer;
  readonly times: Record<DocumentName, number[]>;
}

async function startPeers(folder: string): Promise<Measured[]> {
  const peers: Measured[] = [];
  for (const [index, kind] of PEERS.entries()) {
    const own = join(folder, String(index));
    await mkdir(own);
    process.stderr.write(`starting ${kind.name} …\n`);
    try {
      peers.push({ kind, peer: await kind.start(own), times: { hello: [], invoice: [] } });
    } catch (error) {
      process.stderr.write(`${kind.name}: ${error instanceof Error ? error.message : error}\n`);
    }
  }
  return peers;
}

function pageOf(peers: readonly Measured[], loadAtStart: number): string {
  const head = [
    "Processor time of a document",
    "`= Hello`, ms",
    "the invoice of `examples/`, ms",
    "sandbox",
    "PDF/UA-1",
  ];
  const rows = peers.map(({ kind: { name, sandbox, pdfUa }, times }) => {
    return [name, ...formatFigures(1, median(times.hello), median(times.invoice)), sandbox, pdfUa];
  });
  return `# Beside other ways to make a PDF

Made by \`npm run bench:peers\` on ${describeMachine()}, with a load average of ${loadAtStart.toFixed(0)} on
${availableParallelism()} cores. Each program makes one document after the other, in ${ROUNDS} rounds by turns after a warm-up; the figures are medians. Processor
time is that of all processes of a program. It depends on other work of the machine far less than durations do.

${formatTable(head, rows)}
The column PDF/UA-1 says whether the program can write it, and whether it then checks the document as far as programs can.

- Every request has a different number in its text, so no program can reuse an earlier document. All PDFs are tagged.
- **This service** is edge and backend with default settings and without log lines. It compiles the source of untrusted callers: each
  request brings source, files and data, passes validation twice, and gets its own process in a sandbox.
- **\`typst compile\`** reads the project from disk, without system fonts and with one thread: no queue, no limits, no HTTP.
- **Typst in process** keeps source, files, fonts and whatever Typst memoizes, and gets only data. That is the fastest way to
  use Typst for templates that you write yourself. It has no HTTP either, nor has WeasyPrint.
- **WeasyPrint and Chromium** get the same finished HTML with inlined numbers, where Typst computes the sums. They read their fonts
  from disk. Chromium makes a new page for each document and is driven directly; its own sandbox is off, as playwright starts it.
  The HTML invoice has the text of the Typst one, on one page, in a similar layout and a different font.
`;
}

const [loadAtStart = 0] = loadavg();
const folder = await mkdtemp(join(tmpdir(), "bench-peers-"));
const peers: Measured[] = [];
try {
  peers.push(...(await startPeers(folder)));
  for (let round = -1; round < ROUNDS; round++) {
    process.stderr.write(round < 0 ? "warming up …\n" : `round ${round + 1} of ${ROUNDS} …\n`);
    for (const { peer, times } of peers) {
      for (const document of DOCUMENTS) {
        const milliseconds = await measure(peer, document, round < 0 ? WARM_UP_SECONDS : ROUND_SECONDS);
        if (round >= 0) times[document].push(milliseconds);
      }
    }
  }
  await publish("peers", pageOf(peers, loadAtStart));
} finally {
  closeConnections();
  await Promise.allSettled(peers.map(({ peer }) => peer.stop()));
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
