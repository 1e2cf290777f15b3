/**
 * `npm run bench:rules`: the validation of request bodies against parsing alone and against the same verdict by parsing,
 * in Node and inside workerd, with its memory and its growth. Writes bench/rules.md.
 *
 * Only ratios of one run count: the contestants take turns, so that the load of the machine affects all of them equally.
 */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { DEFAULT_LIMITS, limitsFrom } from "../rules/limits.ts";
import { parseRenderRequest } from "../rules/render-request.ts";
import { startWorkerFile } from "../scripts/local-service.ts";
import { describeMachine } from "./machine.ts";
import { median } from "./median.ts";
import { BODIES } from "./rules-bodies.ts";
import { CONTESTANTS } from "./rules-contestants.ts";

const NAMES = ["validate", "parse", "verdict"] as const;
type Times = Record<(typeof NAMES)[number], number>;

const MEBIBYTE = 1024 * 1024;
/** Runs per body: enough for a stable median, few enough for two minutes in all. */
const BYTES_A_SERIES = 400 * MEBIBYTE;
const ROUNDS = 9;

function repeatsFor(body: Uint8Array): number {
  return Math.min(20_000, Math.max(1, Math.floor(BYTES_A_SERIES / ROUNDS / 20 / body.length)));
}

async function measure(
  run: (name: (typeof NAMES)[number], repeat: number) => Promise<number>,
  repeat: number,
): Promise<Times> {
  const times: Record<string, number[]> = { validate: [], parse: [], verdict: [] };
  for (const name of NAMES) await run(name, repeat);
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of NAMES) times[name]?.push((await run(name, repeat)) / repeat);
  }
  return {
    validate: median(times.validate ?? []),
    parse: median(times.parse ?? []),
    verdict: median(times.verdict ?? []),
  };
}

async function measureInNode(body: Uint8Array): Promise<Times> {
  return measure(async (name, repeat) => {
    const started = performance.now();
    for (let index = 0; index < repeat; index++) {
      if (!CONTESTANTS[name](body)) throw new Error(`${name} rejects the body`);
    }
    return performance.now() - started;
  }, repeatsFor(body));
}

async function measureInWorkerd(url: URL, body: Uint8Array<ArrayBuffer>): Promise<Times> {
  await fetch(url, { method: "POST", body });
  const ask = async (name: string, repeat: number) => {
    const started = performance.now();
    const answer = await fetch(new URL(`/?contestant=${name}&repeat=${repeat}`, url));
    if ((await answer.text()) !== "accepted") throw new Error(`${name} rejects the body in workerd`);
    return performance.now() - started;
  };
  const repeat = repeatsFor(body);
  const overheads: number[] = [];
  for (let index = 0; index < 20; index++) overheads.push(await ask("none", 1));
  const overhead = median(overheads);
  return measure(async (name, count) => Math.max(0, (await ask(name, count)) - overhead), repeat);
}

function memoryOf(bodyName: string, contestant: string): number {
  const program = fileURLToPath(new URL("rules-memory.ts", import.meta.url));
  return Number(execFileSync(process.execPath, ["--expose-gc", program, bodyName, contestant], { encoding: "utf8" }));
}

interface Growth {
  readonly title: string;
  readonly unit: string;
  readonly sizes: readonly number[];
  readonly make: (size: number) => string;
}

const GROWTHS: readonly Growth[] = [
  {
    title: "text file bytes",
    unit: "MiB",
    sizes: [1, 2, 4, 8, 16, 20],
    make: (size) => {
      const content = "x".repeat(size * MEBIBYTE - 200);
      return JSON.stringify({ source: "x", files: { a: { encoding: "text", content } } });
    },
  },
  {
    title: "depth of an unknown field",
    unit: "levels",
    sizes: [1000, 10_000, 100_000, 1_000_000],
    make: (size) => `{"source":"x","unknown":${"[".repeat(size)}${"]".repeat(size)}}`,
  },
  {
    title: "files",
    unit: "entries",
    sizes: [1, 16, 64, 256, 1024],
    make: (size) => {
      const entries = Array.from({ length: size }, (_, index) => [
        `lib/f${index}.typ`,
        { encoding: "text", content: "x" },
      ]);
      return JSON.stringify({ source: "x", files: Object.fromEntries(entries) });
    },
  },
  {
    title: "keys of data",
    unit: "keys",
    sizes: [1, 100, 1000, 10_000, 100_000],
    make: (size) => {
      const entries = Array.from({ length: size }, (_, index) => [`key${index}`, index]);
      return JSON.stringify({ source: "x", data: Object.fromEntries(entries) });
    },
  },
];

const GROWTH_LIMITS = limitsFrom({
  ...DEFAULT_LIMITS,
  max_inline_files: 1024,
  max_inline_file_bytes: 64 * MEBIBYTE,
  max_request_body_bytes: 64 * MEBIBYTE,
});

function measureGrowth({ title, unit, sizes, make }: Growth): string {
  const cells = sizes.map((size) => {
    const body = new TextEncoder().encode(make(size));
    const repeat = Math.max(3, Math.min(2000, Math.floor((20 * MEBIBYTE) / body.length)));
    for (let index = 0; index < Math.min(repeat, 200); index++) parseRenderRequest(body, GROWTH_LIMITS);
    const times = Array.from({ length: repeat }, () => {
      const started = performance.now();
      parseRenderRequest(body, GROWTH_LIMITS);
      return performance.now() - started;
    });
    return `${size}: ${((median(times) * 1e6) / body.length).toFixed(2)}`;
  });
  return `| ${title} (${unit}) | ${cells.join(" · ")} |`;
}

const ratio = (part: number, whole: number) => (part / whole).toFixed(2);

async function main(): Promise<void> {
  const worker = await startWorkerFile(fileURLToPath(new URL("rules-worker.ts", import.meta.url)));
  const rows: string[] = [];
  const memoryRows: string[] = [];
  const ratios = {
    node: { verdict: [] as number[], parse: [] as number[] },
    workerd: { verdict: [] as number[], parse: [] as number[] },
  };
  try {
    for (const [name, make] of Object.entries(BODIES)) {
      process.stderr.write(`${name} …\n`);
      const body = make();
      const node = await measureInNode(body);
      const workerd = await measureInWorkerd(worker.url, body);
      for (const [place, times] of [
        ["node", node],
        ["workerd", workerd],
      ] as const) {
        ratios[place].verdict.push(times.validate / times.verdict);
        ratios[place].parse.push(times.validate / times.parse);
      }
      rows.push(
        `| ${name} | ${node.validate.toFixed(3)} | ${ratio(node.validate, node.verdict)} | ${ratio(node.validate, node.parse)} | ${ratio(workerd.validate, workerd.verdict)} | ${ratio(workerd.validate, workerd.parse)} |`,
      );
      const [validated, parsed] = [memoryOf(name, "validate"), memoryOf(name, "parse")];
      memoryRows.push(
        `| ${name} | ${(body.length / MEBIBYTE).toFixed(2)} | ${(validated / MEBIBYTE).toFixed(2)} | ${((0.1 * body.length) / MEBIBYTE + 2).toFixed(2)} | ${(parsed / MEBIBYTE).toFixed(2)} |`,
      );
    }
  } finally {
    await worker.stop();
  }
  const medians = (place: "node" | "workerd", kind: "verdict" | "parse") => median(ratios[place][kind]).toFixed(2);
  const worst = (place: "node" | "workerd", kind: "verdict" | "parse") => Math.max(...ratios[place][kind]).toFixed(2);
  const report = `# Validating a request

Made by \`npm run bench:rules\` on ${describeMachine()}.

\`validate\` is the service's verdict on a body, \`parse\` is \`JSON.parse(new TextDecoder().decode(body))\`, which validates
nothing, and \`verdict\` is the same verdict by \`JSON.parse\`, a valibot schema and a walk for sizes, Base64 and surrogates.

| Body | validate, ms in Node | ÷ verdict, Node | ÷ parse, Node | ÷ verdict, workerd | ÷ parse, workerd |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}
| median | | ${medians("node", "verdict")} | ${medians("node", "parse")} | ${medians("workerd", "verdict")} | ${medians("workerd", "parse")} |
| worst | | ${worst("node", "verdict")} | ${worst("node", "parse")} | ${worst("workerd", "verdict")} | ${worst("workerd", "parse")} |

Peak of the resident set above what it was with the body in memory, one run in a fresh process, in MiB:

| Body | body | validate | allowed: 0.1 × body + 2 | parse |
| --- | --- | --- | --- | --- |
${memoryRows.join("\n")}

Growth, in nanoseconds a byte of the body; where it is linear the figures of a row are alike:

| What grows | size: ns a byte |
| --- | --- |
${GROWTHS.map(measureGrowth).join("\n")}
`;
  await writeFile(new URL("rules.md", import.meta.url), report);
  process.stdout.write(report);
}

await main();
