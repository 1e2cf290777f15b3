/**
 * The figures of docs/deploy/scale.md: at each size the usual load, a higher one, a rolling restart, and one caller
 * that floods.
 */
import { readFile, writeFile } from "node:fs/promises";
import { BACKEND_INTEGER_SETTINGS } from "../../backend/settings.ts";
import { markdown, type Table } from "../../bench/report.ts";
import { type Figures, measureScale, type Scale } from "./scale.ts";

const PAGE = new URL("../../docs/deploy/scale.md", import.meta.url);
const MEBIBYTE = 1024 ** 2;

const USUAL = {
  loudPerSecond: 0,
  maxWaiting: BACKEND_INTEGER_SETTINGS.maxQueuedRenders.default,
  isRestarted: false,
} as const;
/** A short queue is full soon, and only what happens then is of interest. */
const FLOODED_QUEUE = 16;

interface Size extends Pick<Scale, "edges" | "backends" | "slots"> {
  readonly perSecond: number;
  readonly seconds: number;
  readonly floodSeconds: number;
}

const SIZES: readonly Size[] = [
  { perSecond: 10, edges: 2, backends: 2, slots: 2, seconds: 300, floodSeconds: 60 },
  { perSecond: 100, edges: 10, backends: 10, slots: 4, seconds: 60, floodSeconds: 10 },
  { perSecond: 1000, edges: 50, backends: 100, slots: 4, seconds: 20, floodSeconds: 2 },
];
const LARGEST_PER_SECOND = Math.max(...SIZES.map(({ perSecond }) => perSecond));
/** What isolates lose by not sharing what they know is seen beside this many at the largest size. */
const FEW_EDGES = 5;

function* rows(): Generator<readonly [name: string, scale: Scale]> {
  for (const { perSecond, floodSeconds, ...size } of SIZES) {
    const usual = { ...USUAL, ...size, quietPerSecond: perSecond };
    const name = (situation: string) => `${perSecond}/s, ${situation}`;
    yield [name("usual"), usual];
    if (perSecond === LARGEST_PER_SECOND) yield [name(`usual, ${FEW_EDGES} edges`), { ...usual, edges: FEW_EDGES }];
    yield [name("half as much again"), { ...usual, quietPerSecond: 1.5 * perSecond }];
    yield [name("restart"), { ...usual, isRestarted: true }];
    const flood = { quietPerSecond: perSecond / 2, loudPerSecond: 3 * perSecond };
    yield [name("flood"), { ...usual, ...flood, maxWaiting: FLOODED_QUEUE, seconds: floodSeconds }];
  }
}

/** Measures all sizes, and prints what belongs between the marks of the page. */
export async function reportScale(seed: number, isWritten: boolean): Promise<void> {
  const measured: { name: string; scale: Scale; figures: Figures }[] = [];
  for (const [name, scale] of rows()) {
    const began = performance.now();
    measured.push({ name, scale, figures: await measureScale(seed, scale) });
    console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  const date = new Date().toISOString().slice(0, 10);
  const tables = [callersTable(measured), partsTable(measured)].map(markdown).join("\n\n");
  const text = `Made by \`npm run simulate -- --scale --seed ${seed} --write\` on ${date}.\n\n${tables}\n`;
  console.log(text);
  if (!isWritten) return;
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, page.replace(/(<!-- scale -->\n)[\s\S]*?(<!-- end of scale -->)/, `$1\n${text}\n$2`));
}

type Measured = readonly { readonly name: string; readonly scale: Scale; readonly figures: Figures }[];

function callersTable(measured: Measured): Table {
  return {
    subject: "What callers notice",
    columns: [
      { title: "requests", digits: 0 },
      { title: "refused" },
      { title: "refused although free" },
      { title: "failed", digits: 0 },
      { title: "waited although free" },
      { title: "wait, p50", digits: 3, unit: " s" },
      { title: "p99", unit: " s" },
      { title: "longest", unit: " s" },
      { title: "unfairness", digits: 1 },
      { title: "quiet callers: refused" },
      { title: "their p99", unit: " s" },
    ],
    rows: measured.map(({ name, figures }) => ({
      name,
      cells: [
        figures.requests,
        percent(figures.refused, figures.requests),
        String(figures.refusedThoughFree),
        figures.failed,
        percent(figures.waitedThoughFree, figures.requests),
        figures.medianWaitSeconds,
        figures.p99WaitSeconds,
        figures.longestWaitSeconds,
        figures.unfairness,
        percent(figures.quietRefused, figures.quiet),
        figures.quietP99WaitSeconds,
      ],
    })),
  };
}

function partsTable(measured: Measured): Table {
  return {
    subject: "What it takes",
    columns: [
      { title: "edges × backends × slots" },
      { title: "time", digits: 0, unit: " s" },
      { title: "slots needed" },
      { title: "wasted uploads per 100 requests", digits: 1 },
      { title: "wasted bytes per request", digits: 0, unit: " KiB" },
      { title: "connections to one backend", digits: 0 },
      { title: "requests in one edge", digits: 0 },
      { title: "their bodies", digits: 1, unit: " MiB" },
      { title: "probes per 100 requests", digits: 1 },
      { title: "`/ready` per 100 requests", digits: 1 },
    ],
    rows: measured.map(({ name, scale, figures }) => ({
      name,
      cells: [
        `${scale.edges} × ${scale.backends} × ${scale.slots}`,
        scale.seconds,
        percent(figures.use, 1),
        (100 * figures.wastedUploads) / figures.requests,
        figures.wastedBytes / figures.requests / 1024,
        figures.connectionsPerBackend,
        figures.requestsPerEdge,
        figures.bytesPerEdge / MEBIBYTE,
        (100 * figures.probes) / figures.requests,
        (100 * figures.asked) / figures.requests,
      ],
    })),
  };
}

function percent(part: number, whole: number): string {
  return part === 0 ? "0" : `${((100 * part) / whole).toFixed(1)} %`;
}
