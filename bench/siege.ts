/** `npm run bench -- siege`: how much one caller can impair another. Only ratios to the undisturbed renders count. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { exampleRequest } from "../scripts/examples/example-request.ts";
import { formatTable } from "../scripts/generate/markdown-table.ts";
import { startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { startEdge } from "../test/support/service/local-worker.ts";
import { BACKEND_TOKEN } from "../test/support/tokens.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { quantile } from "./figures.ts";
import { describeMachine, formatFigures, publish } from "./report.ts";

const ATTACK_SECONDS = 20;
const QUIET_SECONDS = 6;
const HEALTH_INTERVAL_MILLISECONDS = 100;
const RENDER_INTERVAL_MILLISECONDS = 1000;

const TOKENS = { attacker: "attacker-token", ordinary: "ordinary-token" } as const;

const ENDLESS = '#let f(path) = if path.len() > 60 { 0 } else { f(path + "a") + f(path + "b") }\n#f("")';
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="900" height="900">';
const SVG_FILTER = `${SVG}<filter id="f"><feTurbulence baseFrequency=".9" numOctaves="2000"/></filter><rect width="900" height="900" filter="url(#f)"/></svg>`;
const SVG_PATH = `${SVG}<path d="${"M0 0h1v1z ".repeat(45_000)}"/></svg>`;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz 0123456789\n";

const text = (content: string) => ({ encoding: "text", content });
const UNREAD = JSON.stringify({
  source: '#raw(read("a.txt"))',
  files: { "a.txt": text(ALPHABET.repeat(2700)) },
  output: { format: "svg" },
});

/** It runs until the signal is aborted, and leaves nothing open. */
type Attack = (edge: URL, over: AbortSignal) => Promise<void>;

const ATTACKS: Readonly<Record<string, Attack>> = {
  "nobody attacks": async (_edge, over) => waitFor(over),
  "8,000 silent uploads": silentUploads(8000, TOKENS.attacker, "once"),
  "8,000 silent uploads without a token, again and again": silentUploads(8000, "none", "again"),
  "16 connections that scrape /metrics": repeat(16, async (edge, over) => {
    await (await fetch(new URL("/metrics", edge), { signal: over })).bytes();
  }),
  "archives of 64 SVG pages of 700 KB": renders(4, {
    source: '#for i in range(64) { page(image("a.svg")) }',
    files: { "a.svg": text(SVG_PATH) },
    output: { format: "svg", archive: "zip" },
  }),
  "20 MB of 1e308": renders(4, `{"source":"x","data":[${"1e308,".repeat(3_400_000)}1]}`),
  "30 answers of 11 MB that nobody reads": async (edge, over) => {
    const sockets = Array.from({ length: 30 }, () => openRequest(edge, `Content-Length: ${UNREAD.length}`, UNREAD));
    for (const socket of sockets) socket.pause();
    await waitFor(over);
    for (const socket of sockets) socket.destroy();
  },
  "24 templates without end": renders(24, { source: ENDLESS }),
  "24 SVG filters of 30 s": renders(24, {
    source: '#image("f.svg")',
    files: { "f.svg": text(SVG_FILTER) },
    output: { format: "png" },
  }),
};

function silentUploads(count: number, token: string, repetition: "once" | "again"): Attack {
  return async (edge, over) => {
    const open = new Set<Socket>();
    const begin = (index: number) => {
      const framing = index % 2 === 0 ? "Transfer-Encoding: chunked" : "Content-Length: 4194304";
      const socket = openRequest(edge, framing, "", token);
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

function repeat(loops: number, attack: (edge: URL, over: AbortSignal) => Promise<unknown>): Attack {
  return async (edge, over) => {
    const loop = async () => {
      while (!over.aborted) await attack(edge, over).catch(() => delay(10));
    };
    await Promise.all(Array.from({ length: loops }, loop));
  };
}

function renders(loops: number, request: object | string): Attack {
  const body = typeof request === "string" ? request : JSON.stringify(request);
  return repeat(loops, (edge, over) => render(edge, TOKENS.attacker, body, over));
}

async function waitFor(over: AbortSignal): Promise<void> {
  if (!over.aborted) await once(over, "abort");
}

function openRequest(edge: URL, framing: string, start: string, token: string = TOKENS.attacker): Socket {
  const socket = connect(Number(edge.port), edge.hostname);
  socket.on("error", () => {});
  const fields = [`Host: ${edge.host}`, `X-Service-Api-Token: ${token}`, "Content-Type: application/json", framing];
  socket.write(`POST /v1/render HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n${start}`);
  return socket;
}

async function render(edge: URL, token: string, body: string, signal?: AbortSignal): Promise<number> {
  const answer = await fetch(new URL("/v1/render", edge), {
    method: "POST",
    body,
    headers: { "X-Service-Api-Token": token, "Content-Type": "application/json" },
    ...(signal && { signal }),
  });
  await answer.bytes();
  return answer.status;
}

type Reading = Awaited<ReturnType<typeof measure>>;

async function measure(edge: URL, name: string, attack: Attack) {
  const body = await exampleRequest("invoice");
  const over = AbortSignal.timeout(ATTACK_SECONDS * 1000);
  const milliseconds: number[] = [];
  const underWay: Promise<void>[] = [];
  const renderEachSecond = async () => {
    for (; !over.aborted; await delay(RENDER_INTERVAL_MILLISECONDS)) {
      const started = performance.now();
      const one = render(edge, TOKENS.ordinary, body).then((status) => {
        if (status === 200) milliseconds.push(performance.now() - started);
      });
      underWay.push(one.catch(() => {}));
    }
    await Promise.all(underWay);
  };
  let longestHealthMilliseconds = 0;
  const watchHealth = async () => {
    for (; !over.aborted; await delay(HEALTH_INTERVAL_MILLISECONDS)) {
      const started = performance.now();
      await (await fetch(new URL("/health", edge))).bytes();
      longestHealthMilliseconds = Math.max(longestHealthMilliseconds, performance.now() - started);
    }
  };
  await Promise.all([renderEachSecond(), watchHealth(), attack(edge, over)]);
  return { name, longestHealthMilliseconds, sent: underWay.length, milliseconds };
}

function tableOf(readings: readonly Reading[]): string {
  const aloneP99 = quantile(readings[0]?.milliseconds ?? [], 0.99);
  const health = "longest `/health` of the edge (ms)";
  const head = ["Attack", health, "ordinary renders served", "their p50 (ms)", "p99 (ms)", "p99 ÷ alone"];
  const rows = readings.map(({ name, longestHealthMilliseconds, sent, milliseconds }) => {
    const [p50, p99] = [quantile(milliseconds, 0.5), quantile(milliseconds, 0.99)];
    const served = `${milliseconds.length} of ${sent}`;
    return [
      name,
      longestHealthMilliseconds.toFixed(),
      served,
      ...formatFigures(0, p50, p99),
      (p99 / aloneP99).toFixed(1),
    ];
  });
  return formatTable(head, rows);
}

const backend = await startBackend(
  {
    SERVICE_TYPST_BIN: await requireTypst(),
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_LOG_LEVEL: "silent",
  },
  await takeFreePort(),
);
const edge = await startEdge(
  {
    SERVICE_API_TOKENS: `attacker:${TOKENS.attacker},ordinary:${TOKENS.ordinary}`,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: backend.url.origin,
  },
  await takeFreePort(),
);
try {
  const readings: Reading[] = [];
  for (const [name, attack] of Object.entries(ATTACKS)) {
    process.stderr.write(`${name}: ${ATTACK_SECONDS} s\n`);
    readings.push(await measure(edge.url, name, attack));
    await delay(QUIET_SECONDS * 1000);
  }
  await publish(
    "speed-and-load",
    `## What one caller can take from another

Made by \`npm run bench -- siege\` on ${describeMachine()}; each attack for ${ATTACK_SECONDS} s.
Attacker, clients and service share the cores. The ordinary caller renders the invoice of \`examples/\` once per second.

${tableOf(readings)}`,
  );
} finally {
  await edge.stop();
  await backend.stop();
}
