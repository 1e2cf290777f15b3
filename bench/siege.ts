/**
 * `npm run bench -- siege`: measures how much one caller can impair another. The whole service runs on this machine. One
 * caller renders an ordinary document once per second, and another makes each attack for some seconds. Writes its
 * section of bench/speed-and-load.md.
 *
 * The attacker, the clients and the service share the cores, so the figures are worse than those of the service alone.
 * Only ratios to the ordinary caller's undisturbed renders in the same run count.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import {
  type LocalBackend,
  type LocalEdge,
  startBackend,
  startEdge,
  takeFreePort,
} from "../scripts/start/local-service.ts";
import { readProc, residentBytes } from "../test/support/backend/processes.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { quantile } from "./figures.ts";
import { describeMachine, markdown, publish, type Table } from "./report.ts";

const ATTACK_SECONDS = 20;
const QUIET_SECONDS = 6;
const HEALTH_INTERVAL_MILLISECONDS = 100;
const RENDER_INTERVAL_MILLISECONDS = 1000;

const TOKENS = { attacker: "attacker-token", ordinary: "ordinary-token" } as const;
const BACKEND_TOKEN = "bench";

const progress = (line: string) => process.stderr.write(`${line}\n`);

interface Service {
  readonly edge: LocalEdge;
  readonly backend: LocalBackend;
}

/** An attack. It runs until the signal is aborted, and leaves nothing open. */
type Attack = (service: Service, over: AbortSignal) => Promise<void>;

const ENDLESS = '#let f(path) = if path.len() > 60 { 0 } else { f(path + "a") + f(path + "b") }\n#f("")';
const SVG_FILTER =
  '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900"><filter id="f"><feTurbulence baseFrequency=".9" numOctaves="2000"/></filter><rect width="900" height="900" filter="url(#f)"/></svg>';

const ATTACKS: Readonly<Record<string, Attack>> = {
  "nobody attacks": async (_service, over) => waitFor(over),
  "uploads of one byte, reset": loops(8, async ({ edge }) => {
    const socket = openRequest(edge.url, ["Transfer-Encoding: chunked"], "1\r\n{\r\n");
    await delay(20);
    socket.resetAndDestroy();
  }),
  "8,000 silent uploads": silentUploads(8000, TOKENS.attacker, "once"),
  "8,000 silent uploads without a token": silentUploads(8000, "none", "once"),
  "8,000 silent uploads without a token, again and again": silentUploads(8000, "none", "again"),
  "16 connections that scrape /metrics": loops(16, async ({ edge }, over) => {
    await (await fetch(new URL("/metrics", edge.url), { signal: over })).bytes();
  }),
  "archives of 64 SVG pages of 700 KB": loops(4, ({ edge }, over) =>
    render(edge.url, "attacker", JSON.stringify(largePages()), over),
  ),
  "20 MB of 1e308": loops(4, ({ edge }, over) => render(edge.url, "attacker", hugeNumbers(), over)),
  "30 answers of 11 MB that nobody reads": async ({ edge }, over) => {
    const body = JSON.stringify({
      source: '#raw(read("a.txt"))',
      files: { "a.txt": largeText() },
      output: { format: "svg" },
    });
    const sockets = Array.from({ length: 30 }, () => {
      const socket = openRequest(edge.url, [`Content-Length: ${Buffer.byteLength(body)}`], body);
      socket.pause();
      return socket;
    });
    await waitFor(over);
    for (const socket of sockets) socket.destroy();
  },
  "24 templates without end": loops(24, ({ edge }, over) =>
    render(edge.url, "attacker", JSON.stringify({ source: ENDLESS }), over),
  ),
  "24 SVG filters of 30 s": loops(24, ({ edge }, over) =>
    render(
      edge.url,
      "attacker",
      JSON.stringify({
        source: '#image("f.svg")',
        files: { "f.svg": { encoding: "text", content: SVG_FILTER } },
        output: { format: "png" },
      }),
      over,
    ),
  ),
  "64 keys of 250 folders": loops(4, ({ edge }, over) =>
    render(edge.url, "attacker", JSON.stringify({ source: "x", files: deepFiles() }), over),
  ),
  "renders whose client resets": loops(4, async ({ edge }) => {
    const body = JSON.stringify({ source: ENDLESS });
    const socket = openRequest(edge.url, [`Content-Length: ${body.length}`], body);
    await delay(150);
    socket.resetAndDestroy();
  }),
};

/** Begins this many requests whose bodies never arrive. */
function silentUploads(count: number, token: string, repetition: "once" | "again"): Attack {
  return async ({ edge }, over) => {
    const open = new Set<Socket>();
    const begin = (index: number) => {
      const framing = index % 2 === 0 ? "Transfer-Encoding: chunked" : "Content-Length: 4194304";
      const socket = openRequest(edge.url, [framing], "", token);
      open.add(socket);
      socket.resume().once("close", () => {
        open.delete(socket);
        if (repetition === "again" && !over.aborted) begin(index);
      });
    };
    for (let index = 0; index < count && !over.aborted; index++) {
      begin(index);
      // As fast as the listener's backlog allows.
      if (index % 50 === 0) await delay(10);
    }
    await waitFor(over);
    for (const socket of open) socket.destroy();
  };
}

/** Runs this many concurrent loops of an action. */
function loops(count: number, once: (service: Service, over: AbortSignal) => Promise<unknown>): Attack {
  return async (service, over) => {
    await Promise.all(
      Array.from({ length: count }, async () => {
        while (!over.aborted) await once(service, over).catch(() => delay(10));
      }),
    );
  };
}

function waitFor(over: AbortSignal): Promise<void> {
  if (over.aborted) return Promise.resolve();
  return new Promise((resolve) => over.addEventListener("abort", () => resolve(), { once: true }));
}

/** The start of a request, as raw bytes. */
function openRequest(url: URL, fields: readonly string[], start: string, token: string = TOKENS.attacker): Socket {
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => {});
  const head = [
    "POST /v1/render HTTP/1.1",
    `Host: ${url.host}`,
    `X-Service-Api-Token: ${token}`,
    "Content-Type: application/json",
    ...fields,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${start}`);
  return socket;
}

async function render(url: URL, caller: keyof typeof TOKENS, body: string, signal?: AbortSignal): Promise<number> {
  const answer = await fetch(new URL("/v1/render", url), {
    method: "POST",
    body,
    headers: { "X-Service-Api-Token": TOKENS[caller], "Content-Type": "application/json" },
    ...(signal && { signal }),
  });
  await answer.bytes();
  return answer.status;
}

function largePages(): object {
  const path = "M0 0h1v1z ".repeat(45_000);
  const content = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="${path}"/></svg>`;
  return {
    source: '#for i in range(64) { page(image("a.svg")) }',
    files: { "a.svg": { encoding: "text", content } },
    output: { format: "svg", archive: "zip" },
  };
}

let numbersBody: string | null = null;
function hugeNumbers(): string {
  numbersBody ??= `{"source":"x","data":[${"1e308,".repeat(3_400_000)}1]}`;
  return numbersBody;
}

function largeText(): object {
  return { encoding: "text", content: `${"abcdefghijklmnopqrstuvwxyz 0123456789\n".repeat(2700)}` };
}

function deepFiles(): object {
  const keys = Array.from({ length: 64 }, (_, index) => `r${index}/${"a/".repeat(248)}x`);
  return Object.fromEntries(keys.map((key) => [key, { encoding: "text", content: "x" }]));
}

interface Reading {
  readonly name: string;
  readonly healthMilliseconds: Readonly<Record<"edge" | "backend", number>>;
  readonly renders: { readonly sent: number; readonly served: number; readonly milliseconds: readonly number[] };
  readonly memoryMebibytes: Readonly<Record<"edge" | "backend", number>>;
}

async function measure(service: Service, name: string, attack: Attack): Promise<Reading> {
  const over = new AbortController();
  const watches = watch(service, over.signal);
  const attacking = attack(service, over.signal);
  await delay(ATTACK_SECONDS * 1000);
  over.abort();
  await attacking;
  return { name, ...(await watches) };
}

/** Observes the service until the signal: health, an ordinary caller's renders, memory. */
async function watch({ edge, backend }: Service, over: AbortSignal): Promise<Omit<Reading, "name">> {
  const body = await exampleRequest("invoice");
  const milliseconds: number[] = [];
  let sent = 0;
  let served = 0;
  const under = new Set<Promise<void>>();
  const renders = async () => {
    while (!over.aborted) {
      const started = performance.now();
      sent++;
      const one = render(edge.url, "ordinary", body)
        .then((status) => {
          if (status === 200) served++;
          milliseconds.push(performance.now() - started);
        })
        .catch(() => {})
        .finally(() => under.delete(one));
      under.add(one);
      await delay(RENDER_INTERVAL_MILLISECONDS);
    }
    await Promise.all(under);
  };
  const health = async (url: URL) => {
    let longest = 0;
    while (!over.aborted) {
      const started = performance.now();
      await (await fetch(new URL("/health", url))).bytes();
      longest = Math.max(longest, performance.now() - started);
      await delay(HEALTH_INTERVAL_MILLISECONDS);
    }
    return longest;
  };
  const memory = async (pid: number) => {
    let most = 0;
    while (!over.aborted) {
      most = Math.max(most, residentBytes(pid));
      await delay(HEALTH_INTERVAL_MILLISECONDS);
    }
    return Math.round(most / 1024 ** 2);
  };
  const [, edgeHealth, backendHealth, backendMemory, edgeMemory] = await Promise.all([
    renders(),
    health(edge.url),
    health(backend.url),
    memory(backend.process.pid ?? 0),
    memory(workerdPid()),
  ]);
  return {
    healthMilliseconds: { edge: edgeHealth, backend: backendHealth },
    renders: { sent, served, milliseconds },
    memoryMebibytes: { edge: edgeMemory, backend: backendMemory },
  };
}

/** The workerd that this process has started. */
function workerdPid(): number {
  const children = readProc(`self/task/${process.pid}/children`).trim().split(" ");
  return Number(children.find((pid) => readProc(`${pid}/comm`).startsWith("workerd")) ?? 0);
}

const GAUGES = [
  "service_renders_running",
  "service_renders_waiting",
  "service_deliveries_underway",
  "service_body_memory_bytes",
  "service_output_memory_bytes",
  "service_temp_reserved_bytes",
];

/** The names of the gauges that are not 0 some time after the last attack, although the service is idle. */
async function heldAfterwards({ backend }: Service): Promise<string> {
  const text = await (await fetch(new URL("/metrics", backend.url))).text();
  const held = GAUGES.filter((name) => !new RegExp(`^${name} 0$`, "m").test(text));
  return held.length === 0 ? "nothing" : held.join(", ");
}

function tableOf(readings: readonly Reading[]): Table {
  const aloneP99 = quantile(readings[0]?.renders.milliseconds ?? [], 0.99);
  return {
    subject: "Attack",
    columns: [
      { title: "longest `/health`, edge / backend (ms)" },
      { title: "ordinary renders served" },
      { title: "their p50 (ms)", digits: 0 },
      { title: "p99 (ms)", digits: 0 },
      { title: "p99 ÷ alone", digits: 1 },
      { title: "memory of edge / backend (MiB)" },
    ],
    rows: readings.map(({ name, healthMilliseconds, renders, memoryMebibytes }) => {
      const p99 = quantile(renders.milliseconds, 0.99);
      return {
        name,
        cells: [
          `${healthMilliseconds.edge.toFixed(0)} / ${healthMilliseconds.backend.toFixed(0)}`,
          `${renders.served} of ${renders.sent}`,
          quantile(renders.milliseconds, 0.5),
          p99,
          p99 / aloneP99,
          `${memoryMebibytes.edge} / ${memoryMebibytes.backend}`,
        ],
      };
    }),
  };
}

async function main(): Promise<void> {
  const typstPath = await requireTypst();
  const backend = await startBackend(
    { SERVICE_TYPST_BIN: typstPath, SERVICE_BACKEND_TOKENS: BACKEND_TOKEN, SERVICE_LOG_LEVEL: "silent" },
    await takeFreePort(),
  );
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: Object.entries(TOKENS)
        .map(([name, token]) => `${name}:${token}`)
        .join(","),
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
    },
    await takeFreePort(),
  );
  const service = { edge, backend };
  try {
    const readings: Reading[] = [];
    for (const [name, attack] of Object.entries(ATTACKS)) {
      progress(`${name}: ${ATTACK_SECONDS} s`);
      readings.push(await measure(service, name, attack));
      progress(markdown(tableOf(readings)).split("\n").at(-1) ?? "");
      await delay(QUIET_SECONDS * 1000);
    }
    // Nothing is held for longer: this is when a delivery that makes no progress is given up.
    progress("waiting until everything is released");
    await delay(25_000);
    const held = await heldAfterwards(service);
    await publish(
      "speed-and-load",
      `## What one caller can take from another

Made by \`npm run bench -- siege\` on ${describeMachine()}; each attack for ${ATTACK_SECONDS} s.
Attacker, clients and service share the cores. The ordinary caller renders the invoice of \`examples/\` once per second.

${markdown(tableOf(readings))}

Held by the backend 25 s after the last attack: ${held}.
`,
    );
  } finally {
    await edge.stop();
    await backend.stop();
  }
}

await main();
