/**
 * `npm run bench:operator-fonts`: what the fonts of `SERVICE_FONT_PATHS` cost each render. Writes bench/operator-fonts.md.
 *
 * Every Typst process looks through all of them. Its processor time is measured, so other programs disturb little, and
 * candidates take turns. The sets of `npm run fonts` are measured where they are in the folder `fonts/`.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { locateTypst } from "../machine/typst-location.mjs";
import { FONT_SETS } from "../scripts/fonts/font-sets.ts";
import { FONTS_FOLDER } from "../scripts/vendoring/folders.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const ROUNDS = 15;
const COMPILES_PER_ROUND = 10;
const COPIES = [10, 100, 400];

const FONT = new URL("../node_modules/pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf", import.meta.url);
const SOURCE = "#set page(width: 148mm, height: 210mm)\n#lorem(250)";

/** Compiles some times and prints the processor times: `0m0.001s 0m0.001s` of the shell, then those of all that it started. */
const SCRIPT = `for _ in $(seq ${COMPILES_PER_ROUND}); do "$@" < "$SOURCE" > /dev/null; done; times`;

interface Candidate {
  readonly name: string;
  readonly fontPath: string | null;
  /** Milliseconds of one compile. */
  readonly times: number[];
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const folder = await mkdtemp(join(tmpdir(), "bench-fonts-"));
  try {
    const sourcePath = join(folder, "source.typ");
    await writeFile(sourcePath, SOURCE);
    const candidates = await makeCandidates(folder);
    for (let round = 0; round < ROUNDS; round++) {
      for (const { fontPath, times } of candidates) {
        const fontArguments = fontPath === null ? [] : ["--font-path", fontPath];
        const command = [typst.path, "compile", "--jobs", "1", "--ignore-system-fonts", ...fontArguments, "-", "-"];
        const { stdout } = await execa("bash", ["-c", SCRIPT, "bash", ...command], { env: { SOURCE: sourcePath } });
        times.push(processorMilliseconds(stdout) / COMPILES_PER_ROUND);
      }
    }
    await report(candidates);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The sum of the times, user and system, of what the shell started. */
function processorMilliseconds(text: string): number {
  const parts = [...text.matchAll(/(\d+)m([\d.]+)s/g)].slice(2);
  if (parts.length !== 2) throw new Error(`not the output of times: ${text}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1000, 0);
}

async function makeCandidates(folder: string): Promise<Candidate[]> {
  const font = await readFile(FONT);
  const candidates: Candidate[] = [{ name: "none", fontPath: null, times: [] }];
  for (const count of COPIES) {
    const fontPath = join(folder, String(count));
    await mkdir(fontPath);
    for (let index = 0; index < count; index++) await writeFile(join(fontPath, `${index}.ttf`), font);
    candidates.push({ name: `${count} fonts of 670 characters`, fontPath, times: [] });
  }
  const sets = Object.keys(FONT_SETS).filter((name) => existsSync(join(FONTS_FOLDER, name)));
  for (const name of sets) candidates.push({ name, fontPath: join(FONTS_FOLDER, name), times: [] });
  if (sets.length > 1) candidates.push({ name: sets.join(" + "), fontPath: FONTS_FOLDER, times: [] });
  return candidates;
}

async function report(candidates: readonly Candidate[]): Promise<void> {
  const base = median(candidates[0]?.times ?? []);
  const table: Table = {
    subject: "Fonts of the operator",
    columns: [
      { title: "processor time, ms", digits: 1 },
      { title: "ratio", better: "lower" },
    ],
    rows: candidates.map(({ name, times }) => ({ name, cells: [median(times), median(times) / base] })),
  };
  const page = `# What the operator's fonts cost

Made by \`npm run bench:operator-fonts\` on ${describeMachine()}. The processor time of one Typst process, without a sandbox, for one
page of text as PDF that uses none of these fonts: the median of ${ROUNDS} rounds of ${COMPILES_PER_ROUND} compiles, in turn.

${markdown(table)}
`;
  await publish("operator-fonts", page, [table]);
}

await main();
