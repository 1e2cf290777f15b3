/**
 * `npm run bench:svg`: the cost of making Typst's SVG well-formed, relative to the render that made it. The two take turns,
 * and only their ratio counts. Writes bench/svg.md.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { escapeSvg } from "../backend/render/svg-escaping.ts";
import { locateTypst } from "../machine/typst-location.mjs";
import { writeExampleProject } from "../scripts/example-project.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { markdown, publish, type Table } from "./report.ts";

const ROUNDS = 11;
const WARM_UPS = 3;

const PAGE = "#set page(width: 400pt, height: auto)\n#set text(size: 6pt)\n";

/** Documents whose SVG has some 5 MB. */
const LARGE_DOCUMENTS: readonly (readonly [name: string, source: string])[] = [
  ["text", `${PAGE}#for i in range(1350) [Line #i: #lorem(7) \\ ]`],
  ["a link on every line", `${PAGE}#for i in range(1300) [#link("https://e.org/?a=" + str(i))[#lorem(7)] \\ ]`],
  [
    "a link with & on every line",
    `${PAGE}#for i in range(1300) [#link("https://e.org/?a=1&b=" + str(i))[#lorem(7)] \\ ]`,
  ],
  ["nothing but links with &", `${PAGE}#for i in range(22000) [#link("https://e.org/?a=1&b=" + str(i))[x] ]`],
];

/** The size of the chunks in which the pages of an archive are read. */
const CHUNK_BYTES = 256 * 1024;

async function* inChunks(svg: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < svg.length; start += CHUNK_BYTES) yield svg.subarray(start, start + CHUNK_BYTES);
}

async function measure(name: string, typstPath: string, directory: string): Promise<Table["rows"][number]> {
  const output = join(directory, "out.svg");
  const renderArguments = ["compile", "--ignore-system-fonts", "--jobs", "1", "--pages", "1", "main.typ", output];
  const render = () => execFileSync(typstPath, renderArguments, { cwd: directory, stdio: "ignore" });
  render();
  const svg = await readFile(output);
  const complete = async () => {
    for await (const _piece of escapeSvg(inChunks(svg)));
  };
  for (let index = 0; index < WARM_UPS; index++) await complete();
  const renders: number[] = [];
  const escapes: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    renders.push(await milliseconds(render));
    escapes.push(await milliseconds(complete));
  }
  const [renderMilliseconds, escapeMilliseconds] = [median(renders), median(escapes)];
  const percent = (100 * escapeMilliseconds) / renderMilliseconds;
  return { name, cells: [svg.length / 1e6, renderMilliseconds, escapeMilliseconds, percent] };
}

async function milliseconds(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function main(): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  const directory = await mkdtemp(join(tmpdir(), "bench-svg-"));
  try {
    await writeExampleProject("invoice", directory);
    const rows = [await measure("the invoice of `examples/`", typst.path, directory)];
    for (const [name, source] of LARGE_DOCUMENTS) {
      await writeFile(join(directory, "main.typ"), source);
      rows.push(await measure(name, typst.path, directory));
    }
    const table: Table = {
      subject: "SVG",
      columns: [
        { title: "MB" },
        { title: "render, ms", digits: 1 },
        { title: "escape, ms", digits: 3 },
        { title: "ratio", unit: " %", better: "lower" },
      ],
      rows,
    };
    const page = `# What well-formed SVG costs

Made by \`npm run bench:svg\` on ${describeMachine()}. Medians of ${ROUNDS} rounds.

${markdown(table)}
`;
    await publish("svg", page, [table]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

await main();
