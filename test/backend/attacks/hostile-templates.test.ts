/**
 * Hostile templates: they attack the host's files, the network, processor, memory, disk, and the parsers inside Typst.
 *
 * Each runs in the real Typst in the real sandbox, beside its harmless form, which must not be affected. Limits are
 * smaller than in production, so an attack takes a second. What stops each is known, and so is its error code.
 */
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  anchorBomb,
  compressedSpaces,
  compressedSvg,
  ENDLESS,
  entityBomb,
  growingPlugin,
  loopingPlugin,
  NO_TIME_LIMIT,
  noisePng,
  png,
  referenceBomb,
  svg,
} from "../../support/backend/bombs.ts";
import { binaryFile, type SentFile, textFile } from "../../support/backend/request-files.ts";
import { expectNothingLeft, sharedBackends } from "../../support/backend/test-backend.ts";
import { type ContractCode, expectProblem } from "../../support/problems.ts";

/** Much longer than an ordinary render takes, even on a busy machine. */
const RENDER_TIMEOUT_SECONDS = 2;
const MAX_OUTPUT_BYTES = 10_000_000;
const MEBIBYTE = 1024 ** 2;
const memoryOf = (mebibytes: number) => ({ SERVICE_RENDER_MEMORY_BYTES: String(mebibytes * MEBIBYTE) });

const LIMITS = {
  SERVICE_MAX_CONCURRENT_RENDERS: "2",
  SERVICE_RENDER_TIMEOUT_SECONDS: String(RENDER_TIMEOUT_SECONDS),
  ...memoryOf(256),
  SERVICE_MAX_OUTPUT_BYTES: String(MAX_OUTPUT_BYTES),
};

interface Template {
  readonly source: string;
  readonly files?: Readonly<Record<string, SentFile>>;
  readonly output?: object;
}

interface Attack extends Template {
  /** The change that makes the template harmless. That one compiles, so the attack alone is what fails. */
  readonly control: Partial<Template>;
  readonly settings?: Readonly<Record<string, string>>;
}

const limitedBackend = sharedBackends(LIMITS);

/**
 * Runs an attack beside its harmless form; expects the code, not before its time, and nothing left. Without a time limit,
 * where an attack ends by itself, even on a slow machine.
 */
async function expectStopped(attack: Attack, code: ContractCode, timeLimit: object = NO_TIME_LIMIT): Promise<void> {
  const { control, settings: own, ...body } = attack;
  const settings: Attack["settings"] = { ...timeLimit, ...own };
  const backend = await limitedBackend(settings);
  const started = performance.now();
  const [{ problem, seconds }, harmless] = await Promise.all([
    backend.render(body).then(async (answer) => {
      const seconds = (performance.now() - started) / 1000;
      return { seconds, problem: await expectProblem(answer, code) };
    }),
    backend.render({ ...body, ...control }),
  ]);
  expect(harmless.status).toBe(200);
  await harmless.bytes();
  expect(JSON.stringify(problem)).not.toContain(backend.workDirectory);
  if (code === "render_timeout" && settings.SERVICE_RENDER_CPU_SECONDS === undefined) {
    expect(problem.context).toEqual({ timeout_secs: RENDER_TIMEOUT_SECONDS });
    expect(seconds).toBeGreaterThan(RENDER_TIMEOUT_SECONDS - 0.05);
  }
  await expectNothingLeft(backend);
}

const changed = (source: string, harmless: string): Attack => ({ source, control: { source: harmless } });
/** The same source with a great number and, harmless, with a small one. */
const scaled = (source: (number: number) => string, great: number, small: number) =>
  changed(source(great), source(small));
/** The same for a file that the source reads. */
const scaledFile = (
  source: string,
  name: string,
  content: (number: number) => string,
  great: number,
  small: number,
): Attack => ({
  source,
  files: { [name]: textFile(content(great)) },
  control: { files: { [name]: textFile(content(small)) } },
});
const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
/** The plugin itself is valid as long as nobody calls it. */
const plugin = (bytes: Buffer): Attack => ({
  source: '#plugin("bad.wasm").run()',
  files: { "bad.wasm": binaryFile(bytes) },
  control: { source: '#plugin("bad.wasm")' },
});
const image = (name: string, file: SentFile, harmless: SentFile): Attack => ({
  source: `#image("${name}")`,
  files: { [name]: file },
  control: { files: { [name]: harmless } },
});
/** Reads a file by a path, of the project in the control. */
const reading = (path: string): Attack => ({
  source: `#let content = read("${path}", encoding: none)`,
  control: { source: '#let content = read("own.txt", encoding: none)', files: { "own.txt": textFile("its own") } },
});
const importing = (name: string): Attack => ({
  source: `#import "${name}"`,
  control: { source: '#import "own.typ"', files: { "own.typ": textFile("") } },
});
const HARMLESS_SVG = textFile(svg('<rect width="1" height="1"/>'));
const imageInSvg = (href: string) => image("a.svg", textFile(svg(`<image href="${href}" width="9"/>`)), HARMLESS_SVG);
const HARMLESS_PNG = binaryFile(noisePng(5));
/** A PDF whose list of pages holds one object twice. */
const pdfOf = (page: string) =>
  [
    "%PDF-1.4",
    "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj",
    `2 0 obj<</Type/Pages/Kids[${page} ${page}]/Count 2>>endobj`,
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj",
    "trailer<</Root 1 0 R>>",
    "%%EOF",
  ].join("\n");
const pages = (count: number) => `#for number in range(${count}) { pagebreak(weak: false) }`;
const ZIP_OF_PNG = { format: "png", archive: "zip", ppi: 72 };
const ZIP_OF_SVG = { format: "svg", archive: "zip" };

describe("a template does not read", () => {
  it.each<[string, Attack]>([
    ["a file of the host by its absolute path", reading("/etc/passwd")],
    ["a file of the host by way of the parent directory", reading("../../../../../etc/passwd")],
    ["the environment of its process", reading("/proc/self/environ")],
    ["an endless device", reading("/dev/zero")],
    ["its standard input a second time", reading("/dev/stdin")],
    ["the directory of its output", reading("../output")],
    ["the Typst that runs it", reading("/typst")],
    ["the project as if it were a file", reading("/")],
    [
      "a file of the host as an image",
      { source: '#image("/etc/passwd")', control: { source: '#image("a.svg")', files: { "a.svg": HARMLESS_SVG } } },
    ],
    ["a file of the host from within an SVG", imageInSvg("/etc/passwd")],
    ["the network from within an SVG", imageInSvg("http://127.0.0.1:9/")],
    [
      "a file of the host by an entity of XML",
      image(
        "a.svg",
        textFile(`<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>${svg("<text>&a;</text>")}`),
        textFile(`<!DOCTYPE svg [<!ENTITY a "its own">]>${svg("<text>&a;</text>")}`),
      ),
    ],
    ["a package of the public index", importing("@preview/cetz:0.3.0")],
    ["a package by a name that is a path", importing("@../secrets:0.1.0")],
  ])("%s", (_what, attack) => expectStopped(attack, "template_compile_failed"));

  it("the directory of another render, even if it knows the path", async () => {
    const backend = await limitedBackend(NO_TIME_LIMIT);
    const over = new AbortController();
    const body = { source: ENDLESS, files: { "secret.txt": textFile("the secret") } };
    const victim = backend.render(body, { signal: over.signal });
    await expect.poll(() => backend.projects()).toHaveLength(1);
    const [directory = ""] = await backend.projects();
    const secret = `${directory}/secret.txt`;
    await expect.poll(() => existsSync(`${backend.workDirectory}/${secret}`)).toBe(true);
    for (const path of [`${backend.workDirectory}/${secret}`, `../${secret}`, `/../${secret}`]) {
      await expectProblem(await backend.render({ source: `#read("${path}")` }), "template_compile_failed");
    }
    expect(await backend.projects()).toContain(directory);
    over.abort();
    await expect(victim).rejects.toThrow();
    await expectNothingLeft(backend);
  });
});

const ENDLESS_WORK = scaled((count) => ENDLESS.replaceAll("1000000", String(count)), 1_000_000, 10);
/** Each call makes two different ones, so Typst cannot reuse a remembered result. */
const branching = (depth: number) =>
  `#let f(path) = if path.len() > ${depth} { 0 } else { f(path + "a") + f(path + "b") }\n#f("")`;

describe("a template that never ends is stopped at the render timeout", () => {
  it.each<[string, Attack]>([
    ["a plugin that loops", plugin(loopingPlugin())],
    ["a plugin that takes all memory and goes on", plugin(growingPlugin())],
    ["loops in loops", ENDLESS_WORK],
    // It keeps what it has read: half a gigabyte in two or three seconds.
    ["a recursion that branches", { ...scaled(branching, 60, 6), settings: memoryOf(8192) }],
  ])("%s", (_what, attack) => expectStopped(attack, "render_timeout", {}));

  it("or when its processor time is used up", () =>
    expectStopped({ ...ENDLESS_WORK, settings: { SERVICE_RENDER_CPU_SECONDS: "1" } }, "render_timeout"));
});

const growing = (count: number) => `#let all = ()\n#for i in range(${count}) { all.push((i, str(i))) }`;
const square = (points: number) => `#set page(width: ${points}pt, height: ${points}pt)\nx`;
/** Boxes nested `depth` levels deep. */
const boxes = (depth: number) => `#let c = [x]\n#for i in range(${depth}) { c = box(c) }\n#c`;

it.each<[string, Attack]>([
  ["a thousand million numbers", scaled((count) => `#range(${count})`, 1e9, 10)],
  ["a string of 300 MB", scaled((length) => `#("x" * ${length}).len()`, 300_000_000, 300)],
  ["an array that grows", scaled(growing, 10_000_000, 10)],
  ["a page of a million points at 300 ppi", { ...scaled(square, 1_000_000, 100), output: { format: "png", ppi: 300 } }],
  [
    "an image of 60000 by 60000 in 1 KB",
    image("a.png", binaryFile(png(60_000, 60_000, Buffer.alloc(1000))), HARMLESS_PNG),
  ],
  [
    "three million shapes in a compressed SVG",
    image("a.svg", binaryFile(compressedSvg(3_000_000)), binaryFile(compressedSvg(3))),
  ],
])("a template that exhausts memory has failed to compile: %s", (_what, attack) =>
  expectStopped(attack, "template_compile_failed"),
);

it.each<[string, Attack]>([
  ["endless recursion", changed("#let f(n) = f(n + 1)\n#f(0)", "#let f(n) = if n < 9 { f(n + 1) }\n#f(0)")],
  ["an endless loop that says so", changed("#while true {}", "#while false {}")],
  ["a show rule of itself", changed("#show par: it => par(it)\nHello", "#show par: it => it\nHello")],
  [
    "files that include each other",
    {
      source: '#include "a.typ"',
      files: { "a.typ": textFile('#include "a.typ"') },
      control: { files: { "a.typ": textFile("Hello") } },
    },
  ],
  ["parentheses without end", scaled((depth) => `#${nested("(", ")", depth)}`, 20_000, 20)],
  ["so many boxes in boxes that the usual stack of 8 MiB would overflow", scaled(boxes, 100_000, 20)],
  ["references that multiply in an SVG", image("a.svg", textFile(referenceBomb(9)), textFile(referenceBomb(1)))],
  ["entities that multiply in an SVG", image("a.svg", textFile(entityBomb(9)), textFile(entityBomb(1)))],
  ["an SVGZ of 700 MB", image("a.svg", binaryFile(compressedSpaces(700_000_000)), binaryFile(compressedSpaces(700)))],
  ["a PDF whose pages are their own parents", image("a.pdf", textFile(pdfOf("2 0 R")), textFile(pdfOf("3 0 R")))],
  ["anchors that multiply in YAML", scaledFile('#yaml("a.yaml").len()', "a.yaml", anchorBomb, 9, 1)],
  [
    "brackets without end in JSON",
    scaledFile('#json("a.json")', "a.json", (depth) => nested("[", "]", depth), 20_000, 20),
  ],
  [
    "a CBOR array that promises 2^63 items",
    changed(`#cbor(bytes((0x9b, 0x7f${", 0xff".repeat(7)})))`, `#cbor(bytes((0x9b, 0x00${", 0x00".repeat(7)})))`),
  ],
  [
    "a regular expression of a million states",
    scaled((count) => `#("a" * 9).matches(regex("(a{1,${count}}){1,${count}}")).len()`, 1000, 9),
  ],
])("a template that Typst itself refuses has failed to compile: %s", (_what, attack) =>
  expectStopped(attack, "template_compile_failed"),
);

/** A signal that the memory limit does not explain is a failure of the service (docs/api.md#codes). */
it.each<[string, Attack]>([
  [
    "by arrays in arrays",
    scaled((depth) => `#let c = ()\n#for i in range(${depth}) { c = (c,) }\n#repr(c)`, 1_000_000, 10),
  ],
  [
    "by elements in elements",
    scaled((depth) => `#let tree = xml(bytes("<a>" * ${depth} + "</a>" * ${depth}))`, 1_000_000, 10),
  ],
])("a template that overflows Typst's stack is a failed render, and the service goes on: %s", (_what, attack) =>
  expectStopped(attack, "render_failed"),
);

describe("a template that makes too much is stopped by the limits of its output", () => {
  const shapes = { "a.svg": textFile(svg('<rect width="1" height="1"/>'.repeat(30_000))) };
  const manyShapes = {
    source: `#set page(width: 9000pt, height: 9000pt)\n${'#image("a.svg")\n'.repeat(30)}`,
    files: shapes,
    control: { files: { "a.svg": HARMLESS_SVG } },
  };
  const noise = { "a.png": binaryFile(noisePng(500)) };
  const noisyPage = 'page(width: 500pt, height: 500pt, margin: 0pt, image("a.png", width: 500pt))';

  it.each<[string, ContractCode, Attack]>([
    [
      "a hundred thousand pages of a PDF",
      "output_too_large",
      { ...scaled(pages, 100_000, 9), settings: memoryOf(512) },
    ],
    [
      "a hundred thousand pages of an archive",
      "too_many_output_files",
      { ...scaled(pages, 99_999, 9), output: ZIP_OF_PNG },
    ],
    ["one page more than an archive holds", "too_many_output_files", { ...scaled(pages, 64, 63), output: ZIP_OF_SVG }],
    [
      "64 pages of SVG that are too large together",
      "output_too_large",
      {
        ...scaled((count) => `#for i in range(${count}) { page(image("a.svg")) }`, 64, 2),
        files: shapes,
        output: ZIP_OF_SVG,
      },
    ],
    [
      "a single image that is too large",
      "output_too_large",
      {
        source: `#${noisyPage}`,
        files: noise,
        output: { format: "png", ppi: 72 },
        settings: { SERVICE_MAX_OUTPUT_BYTES: "500000" },
        control: { files: { "a.png": HARMLESS_PNG } },
      },
    ],
    ["a single SVG that is too large", "output_too_large", { ...manyShapes, output: { format: "svg" } }],
  ])("%s", (_what, code, attack) => expectStopped(attack, code));
});
