/**
 * `npm run bench:operator-fonts`: what the fonts of `SERVICE_FONT_PATHS` cost each render. Writes bench/operator-fonts.md.
 *
 * Every Typst process looks through all of them. Only ratios of one run count, so all candidates take turns. The sets of
 * `npm run fonts` are measured where they are in the folder `fonts/`.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FONT_SETS } from "../scripts/fonts/font-sets.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../scripts/local-service.ts";
import { locateTypst } from "../scripts/typst-location.mjs";
import { FONTS_FOLDER } from "../scripts/vendoring/folders.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const BACKEND_TOKEN = "bench";
const ROUNDS = 40;
const WARM_UP_ROUNDS = 3;
const COPIES = [10, 100, 400];

const FONT = new URL("../node_modules/pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf", import.meta.url);
const BODY = JSON.stringify({ source: "#set page(width: 148mm, height: 210mm)\n#lorem(250)" });

interface Candidate {
  readonly name: string;
  readonly fontPaths: string;
  /** With a process for its request, and with one that waits with its fonts found. Milliseconds. */
  readonly times: Readonly<Record<"cold" | "warm", number[]>>;
}

interface Running {
  readonly candidate: Candidate;
  readonly start: "cold" | "warm";
  readonly backend: LocalBackend;
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const folder = await mkdtemp(join(tmpdir(), "bench-fonts-"));
  const running: Running[] = [];
  try {
    const candidates = await makeCandidates(folder);
    for (const candidate of candidates) {
      for (const start of ["cold", "warm"] as const) {
        const environment = {
          SERVICE_TYPST_BIN: typst.path,
          SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
          SERVICE_LOG_LEVEL: "error",
          SERVICE_FONT_PATHS: candidate.fontPaths,
          SERVICE_WARM_RENDERS: start === "cold" ? "0" : "1",
        };
        running.push({ candidate, start, backend: await startBackend(environment, await takeFreePort()) });
      }
    }
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      for (const { candidate, start, backend } of running) {
        const started = performance.now();
        const headers = { "Content-Type": "application/json", "X-Service-Backend-Token": BACKEND_TOKEN };
        const answer = await fetch(new URL("/v1/render", backend.url), { method: "POST", headers, body: BODY });
        await answer.bytes();
        if (answer.status !== 200) throw new Error(`${candidate.name}: ${answer.status}`);
        if (round >= 0) candidate.times[start].push(performance.now() - started);
      }
    }
    await report(candidates);
  } finally {
    for (const { backend } of running) await backend.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeCandidates(folder: string): Promise<Candidate[]> {
  const candidate = (name: string, fontPaths: string): Candidate => ({
    name,
    fontPaths,
    times: { cold: [], warm: [] },
  });
  const font = await readFile(FONT);
  const candidates = [candidate("none", "")];
  for (const count of COPIES) {
    const place = join(folder, String(count));
    await mkdir(place);
    for (let index = 0; index < count; index++) await writeFile(join(place, `${index}.ttf`), font);
    candidates.push(candidate(`${count} fonts of 670 characters`, place));
  }
  const sets = Object.keys(FONT_SETS).filter((name) => existsSync(join(FONTS_FOLDER, name)));
  candidates.push(...sets.map((name) => candidate(name, join(FONTS_FOLDER, name))));
  if (sets.length > 1) candidates.push(candidate(sets.join(" + "), FONTS_FOLDER));
  return candidates;
}

async function report(candidates: readonly Candidate[]): Promise<void> {
  const [none] = candidates;
  const base = { cold: median(none?.times.cold ?? []), warm: median(none?.times.warm ?? []) };
  const table: Table = {
    subject: "Fonts of the operator",
    columns: [
      { title: "median, ms", digits: 1 },
      { title: "ratio", better: "lower" },
      { title: "median with a waiting process, ms", digits: 1 },
      { title: "ratio", better: "lower" },
    ],
    rows: candidates.map(({ name, times }) => {
      const [cold, warm] = [median(times.cold), median(times.warm)];
      return { name, cells: [cold, cold / base.cold, warm, warm / base.warm] };
    }),
  };
  const page = `# What the operator's fonts cost

Made by \`npm run bench:operator-fonts\` on ${describeMachine()}. One page of text as PDF that uses none of these fonts; requests
one after the other, ${ROUNDS} of each in turn, to a backend that starts each process for its request, and to one where a process
waits that has found its fonts.

${markdown(table)}
`;
  await publish("operator-fonts", page, [table]);
}

await main();
