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
  const measured: Measured[] = [];
  for (const [name, scale] of rows()) {
    const began = performance.now();
    measured.push({ name, scale, figures: await measureScale(seed, scale) });
    console.error(`${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
  const date = new Date().toISOString().slice(0, 10);
  const tables = [tableOf("What callers notice", CALLERS, measured), tableOf("What it takes", PARTS, measured)];
  const text = `Made by \`npm run simulate -- --scale --seed ${seed} --write\` on ${date}.\n\n${tables.map(markdown).join("\n\n")}\n`;
  console.log(text);
  if (!isWritten) return;
  const page = await readFile(PAGE, "utf8");
  await writeFile(PAGE, page.replace(/(<!-- scale -->\n)[\s\S]*?(<!-- end of scale -->)/, `$1\n${text}\n$2`));
}

interface Measured {
  readonly name: string;
  readonly scale: Scale;
  readonly figures: Figures;
}

type Cell = Table["rows"][number]["cells"][number];
type Column = Table["columns"][number] & { readonly of: (measured: Measured) => Cell };

const CALLERS: readonly Column[] = [
  { title: "requests", digits: 0, of: ({ figures }) => figures.requests },
  { title: "refused", of: ({ figures }) => percent(figures.refused, figures.requests) },
  { title: "refused although free", of: ({ figures }) => String(figures.refusedThoughFree) },
  { title: "failed", digits: 0, of: ({ figures }) => figures.failed },
  { title: "waited although free", of: ({ figures }) => percent(figures.waitedThoughFree, figures.requests) },
  { title: "wait, p50", digits: 3, unit: " s", of: ({ figures }) => figures.medianWaitSeconds },
  { title: "p99", unit: " s", of: ({ figures }) => figures.p99WaitSeconds },
  { title: "longest", unit: " s", of: ({ figures }) => figures.longestWaitSeconds },
  { title: "unfairness", digits: 1, of: ({ figures }) => figures.unfairness },
  { title: "quiet callers: refused", of: ({ figures }) => percent(figures.quietRefused, figures.quiet) },
  { title: "their p99", unit: " s", of: ({ figures }) => figures.quietP99WaitSeconds },
];

const perHundred = (count: number, { requests }: Figures) => (100 * count) / requests;

const PARTS: readonly Column[] = [
  { title: "edges × backends × slots", of: ({ scale }) => `${scale.edges} × ${scale.backends} × ${scale.slots}` },
  { title: "time", digits: 0, unit: " s", of: ({ scale }) => scale.seconds },
  { title: "slots needed", of: ({ figures }) => percent(figures.use, 1) },
  {
    title: "wasted uploads per 100 requests",
    digits: 1,
    of: ({ figures }) => perHundred(figures.wastedUploads, figures),
  },
  {
    title: "wasted bytes per request",
    digits: 0,
    unit: " KiB",
    of: ({ figures }) => figures.wastedBytes / figures.requests / 1024,
  },
  { title: "connections to one backend", digits: 0, of: ({ figures }) => figures.connectionsPerBackend },
  { title: "requests in one edge", digits: 0, of: ({ figures }) => figures.requestsPerEdge },
  { title: "their bodies", digits: 1, unit: " MiB", of: ({ figures }) => figures.bytesPerEdge / MEBIBYTE },
  { title: "probes per 100 requests", digits: 1, of: ({ figures }) => perHundred(figures.probes, figures) },
  { title: "`/ready` per 100 requests", digits: 1, of: ({ figures }) => perHundred(figures.asked, figures) },
];

function tableOf(subject: string, columns: readonly Column[], measured: readonly Measured[]): Table {
  const rows = measured.map((one) => ({ name: one.name, cells: columns.map(({ of }) => of(one)) }));
  return { subject, columns: [...columns], rows };
}

function percent(part: number, whole: number): string {
  return part === 0 ? "0" : `${((100 * part) / whole).toFixed(1)} %`;
}
