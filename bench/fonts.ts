/**
 * `npm run bench:fonts`: the cost of fonts among the files of a request, and of the second compile of a failed image.
 * Writes bench/fonts.md.
 *
 * Only ratios of one run count, so all candidates take turns with one backend.
 */
import { readFile } from "node:fs/promises";
import { locateTypst } from "../machine/typst-location.mjs";
import { startBackend, takeFreePort } from "../scripts/local-service.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const BACKEND_TOKEN = "bench";
const ROUNDS = 60;
const WARM_UP_ROUNDS = 3;

const FONT = new URL("../node_modules/pdfjs-dist/standard_fonts/LiberationSans-Regular.ttf", import.meta.url);
const FAMILY = "Liberation Sans";

interface Candidate {
  readonly name: string;
  readonly body: string;
  readonly status: number;
  /** Milliseconds. */
  readonly times: number[];
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const font = await readFile(FONT);
  const content = { encoding: "base64", content: font.toString("base64") };
  const candidate = (name: string, body: object, status = 200): Candidate => {
    return { name, body: JSON.stringify(body), status, times: [] };
  };
  const own = "#set page(width: 148mm, height: 210mm)\n#lorem(250)";
  const branded = `#set text(font: "${FAMILY}")\n${own}`;
  const failing = `${own}\n#panic()`;
  const fonts = [
    candidate("no font", { source: own }),
    candidate("the same bytes, not by the name of a font", { source: own, files: { "font.bin": content } }),
    candidate("a font that is not used", { source: own, files: { "font.ttf": content } }),
    candidate("a font that is used", { source: branded, files: { "font.ttf": content } }),
  ];
  const failures = [
    candidate('with `"page": 1`: one compile', { source: failing, output: { format: "png", page: 1 } }, 422),
    candidate("without: a second one", { source: failing, output: { format: "png" } }, 422),
  ];
  const backend = await startBackend(
    {
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
      SERVICE_LOG_LEVEL: "error",
      // Every process is started for its request, so the order of the candidates does not matter.
      SERVICE_WARM_RENDERS: "0",
    },
    await takeFreePort(),
  );
  try {
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      for (const { name, body, status, times } of [...fonts, ...failures]) {
        const started = performance.now();
        const headers = { "Content-Type": "application/json", "X-Service-Backend-Token": BACKEND_TOKEN };
        const answer = await fetch(new URL("/v1/render", backend.url), { method: "POST", headers, body });
        await answer.bytes();
        if (answer.status !== status) throw new Error(`${name}: ${answer.status}`);
        if (round >= 0) times.push(performance.now() - started);
      }
    }
  } finally {
    await backend.stop();
  }
  const [fontTable, failureTable] = [table(fonts), table(failures)];
  const report = `# What fonts in a request cost

Made by \`npm run bench:fonts\` on ${describeMachine()}. One page of text as PDF; a font of
${Math.round(font.length / 1000)} KB; requests one after the other to a backend without warm starts, ${ROUNDS} of each in turn. A
request without fonts has the command line that it had before there were any (a test compares it), so it pays nothing.

${markdown(fontTable)}

A single image without \`page\` that fails is compiled a second time, to distinguish several pages from an error of the template. The
same page with an error at its end, as PNG:

${markdown(failureTable)}
`;
  await publish("fonts", report, [fontTable, failureTable]);
}

/** Medians, and their ratios to the first. */
function table(candidates: readonly Candidate[]): Table {
  const base = median(candidates[0]?.times ?? []);
  return {
    subject: "",
    columns: [
      { title: "median, ms", digits: 1 },
      { title: "ratio", better: "lower" },
    ],
    rows: candidates.map(({ name, times }) => ({ name, cells: [median(times), median(times) / base] })),
  };
}

await main();
