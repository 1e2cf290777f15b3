/**
 * `npm run bench:peers`: compares this service with other ways to make a PDF by program. Each makes `= Hello` and the
 * invoice of `examples/`, for 1 and for 20 clients. Programs that this machine does not have are left out. Writes
 * bench/peers.md. It needs the superuser, who may count the processor time of programs.
 *
 * All programs run the whole time and take turns: only one of them gets requests at a time.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { STOP_SIGNALS } from "../scripts/start/local-service.ts";
import { type Load, quantile } from "./figures.ts";
import { closeConnections } from "./http-client.ts";
import { DOCUMENT_NAMES, type DocumentName, PEER_KINDS, type Peer, type PeerKind } from "./peers/peers.ts";
import { countProcessorTime, type ProcessorTime } from "./peers/processor-time.ts";
import { residentMebibytes } from "./peers/resident-memory.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";

const CLIENTS = [1, 20] as const;
const MAX_ROUNDS = 3;
const ROUND_SECONDS = 2;
/** For each document and number of clients. An engine that compiles as it runs gets faster for half a minute in all. */
const WARM_UP_SECONDS = 8;
/** On a slow machine there are fewer rounds, because a round lasts until every client has its answer. */
const MAX_SECONDS = 600;

const TITLES: Readonly<Record<DocumentName, string>> = { hello: "`= Hello`", invoice: "The invoice of `examples/`" };

const progress = (line: string) => process.stderr.write(`${line}\n`);

interface Measured {
  readonly kind: PeerKind;
  readonly peer: Peer;
  readonly processorTime: ProcessorTime;
  /** By document and number of clients. */
  readonly loads: Map<string, (Load & { readonly processorMilliseconds: number })[]>;
  mebibytes: number;
}

async function startPeers(folder: string, peers: Measured[]): Promise<string[]> {
  const missing: string[] = [];
  for (const [index, kind] of PEER_KINDS.entries()) {
    const own = join(folder, String(index));
    await mkdir(own);
    progress(`starting ${kind.name} …`);
    const processorTime = countProcessorTime(`peer-${index}`);
    try {
      const peer = await processorTime.whileStarting(() => kind.start(own));
      peers.push({ kind, peer, processorTime, loads: new Map(), mebibytes: 0 });
    } catch (error) {
      progress(`${kind.name}: ${error instanceof Error ? error.message : error}`);
      missing.push(kind.name);
      await processorTime.remove();
    }
  }
  return missing;
}

/** Makes as many rounds as time allows, at least one. */
async function measureInTurn(peers: readonly Measured[], interrupted: AbortSignal): Promise<number> {
  for (let round = -1; ; round++) {
    if (round === MAX_ROUNDS) return round;
    const started = performance.now();
    progress(round < 0 ? "warming up …" : `round ${round + 1} of ${MAX_ROUNDS} …`);
    for (const document of DOCUMENT_NAMES) {
      for (const clients of CLIENTS) {
        for (const measured of peers) {
          interrupted.throwIfAborted();
          await measure(measured, document, clients, round);
        }
      }
    }
    const now = performance.now();
    if (round >= 0 && now + (now - started) > MAX_SECONDS * 1000) return round + 1;
  }
}

async function measure(measured: Measured, document: DocumentName, clients: number, round: number): Promise<void> {
  const { peer, processorTime, loads } = measured;
  const seconds = round < 0 ? WARM_UP_SECONDS : ROUND_SECONDS;
  const memory = delay((seconds * 1000) / 2).then(() => residentMebibytes(peer.processIds()));
  const before = processorTime.milliseconds();
  const render = () => peer.load(document, clients, seconds);
  // A peer without a process of its own starts one for each document, and this process is no client of it.
  const load = await (peer.processIds().length > 0 ? render() : processorTime.whileStarting(render));
  const processorMilliseconds = processorTime.milliseconds() - before;
  measured.mebibytes = Math.max(measured.mebibytes, await memory);
  if (round < 0) return;
  const key = keyOf(document, clients);
  loads.set(key, [...(loads.get(key) ?? []), { ...load, processorMilliseconds }]);
}

const keyOf = (document: DocumentName, clients: number) => `${document}, ${clients}`;

function tableOf(peers: readonly Measured[], document: DocumentName): Table {
  return {
    subject: TITLES[document],
    columns: [
      { title: "processor time, ms", digits: 1 },
      ...CLIENTS.flatMap((clients) => [
        { title: `per second, ${clients === 1 ? "1 client" : `${clients} clients`}`, digits: 1 },
        { title: "p50, ms", digits: 1 },
        { title: "p99, ms", digits: 1 },
      ]),
    ],
    rows: peers.map(({ kind, loads }) => {
      const byClients = CLIENTS.map((clients) => loads.get(keyOf(document, clients)) ?? []);
      return { name: kind.name, cells: [processorMilliseconds(byClients.flat()), ...byClients.flatMap(figuresOf)] };
    }),
  };
}

/** Of one document. */
function processorMilliseconds(loads: readonly (Load & { readonly processorMilliseconds: number })[]): number {
  const count = loads.reduce((sum, { milliseconds }) => sum + milliseconds.length, 0);
  return loads.reduce((sum, load) => sum + load.processorMilliseconds, 0) / count;
}

function figuresOf(loads: readonly Load[]): number[] {
  const milliseconds = loads.flatMap((load) => load.milliseconds);
  const seconds = loads.reduce((sum, load) => sum + load.seconds, 0);
  return [milliseconds.length / seconds, quantile(milliseconds, 0.5), quantile(milliseconds, 0.99)];
}

async function main(): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of STOP_SIGNALS) process.once(signal, () => interrupted.abort());
  const [loadAtStart = 0] = loadavg();
  const folder = await mkdtemp(join(tmpdir(), "bench-peers-"));
  const peers: Measured[] = [];
  try {
    const missing = await startPeers(folder, peers);
    const rounds = await measureInTurn(peers, interrupted.signal);
    const tables = DOCUMENT_NAMES.map((document) => tableOf(peers, document));
    const facts: Table = {
      subject: "",
      columns: [{ title: "memory, MiB", digits: 0 }, { title: "sandbox" }, { title: "PDF/UA-1" }],
      rows: peers.map(({ kind, mebibytes }) => ({ name: kind.name, cells: [mebibytes, kind.sandbox, kind.pdfUa] })),
    };
    await publish("peers", pageOf({ tables, facts, missing, rounds, loadAtStart }));
  } finally {
    closeConnections();
    await Promise.allSettled(peers.map(({ peer }) => peer.stop()));
    for (const { processorTime } of peers) await processorTime.remove();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface PageContent {
  readonly tables: readonly Table[];
  readonly facts: Table;
  /** The names of the peers that did not start. */
  readonly missing: readonly string[];
  readonly rounds: number;
  readonly loadAtStart: number;
}

function pageOf({ tables, facts, missing, rounds, loadAtStart }: PageContent): string {
  const notes = [
    ...(missing.length > 0 ? [`Not available on this machine: ${missing.join(", ")}.`] : []),
    ...(loadAtStart > availableParallelism() / 2
      ? [
          `**The machine was busy with other work** (load average ${loadAtStart.toFixed(0)}). Compare the processor time, which depends on that far less. Rates
and times say only where one program is several times as fast as another.`,
        ]
      : []),
  ];
  return `# Beside other ways to make a PDF

Made by \`npm run bench:peers\` on ${describeMachine()}. Clients and programs share the machine.
${notes.map((note) => `${note}\n`).join("")}
Each client sends its next request as soon as it has its answer. Rounds of ${ROUND_SECONDS} seconds or more in turn, ${rounds} after a warm-up; the
quantiles are those of all rounds together. With few documents, the p99 is the slowest. Processor time is that of one document, of all processes
of a program together, without that of the clients.

${tables.map(markdown).join("\n\n")}

Memory is the largest proportional set size of all processes of a program, under load. The column PDF/UA-1 says whether the program can
write it, and whether it then checks the document as far as programs can.

${markdown(facts)}

## What is compared

- Every request has a different number in its text, so no program can reuse an earlier document. All PDFs are tagged.
- **This service** is edge and backend with default settings and without log lines. It compiles source of untrusted callers: each
  request brings source, files and data, is validated twice, and gets its own process in a sandbox.
- **\`typst compile\`** reads the project from disk, without system fonts and with one thread. A shell starts as many at a time as
  there are clients: no queue, no limits, no HTTP.
- **Typst in process** keeps source, files, fonts and whatever Typst memoizes, and gets only data. That is the fastest way to
  use Typst for templates that you write yourself.
- **WeasyPrint and Chromium** get the same finished HTML with inlined numbers, where Typst computes the sums. Their fonts are read
  from disk. Chromium makes a new page for each document and is driven directly, without HTTP; its own sandbox is off, as
  playwright starts it.
- The Python servers have as many processes as the machine has cores, Chromium renders as many pages at a time, and this service
  as many documents. The Python servers get a new connection for each request. The HTML invoice has the text and layout of the Typst one, on one page, in a different font.
`;
}

await main();
