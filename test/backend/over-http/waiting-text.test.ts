/** A render that finds a process waiting has the same bytes as one that does not. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { textFile } from "../../support/backend/request-files.ts";
import { startTestBackend, type TestBackend } from "../../support/backend/test-backend.ts";

const OUTPUTS = [
  { format: "pdf" },
  { format: "png", archive: "zip", ppi: 36 },
  { format: "svg", archive: "zip" },
  { format: "pdf", pages: "1" },
  { format: "svg" },
  { format: "pdf", standards: ["a-2a", "ua-1"] },
  { format: "png", page: 2, ppi: 20 },
  { format: "pdf", version: "1.4", pages: "2-" },
  { format: "svg", archive: "zip", pages: "1,3" },
] as const;

const MARK = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><circle cx="9" cy="9" r="8"/></svg>';

/** What the documents read. */
const FILES = {
  "lib/template.typ": textFile(
    '#let greeting = [Hello]\n#let letter(to: none, body) = { set page("a6"); [To #to]; parbreak(); body }\n',
  ),
  "lib/chapter.typ": textFile('= Chapter\n#set text(red)\n#include "parts/inner.typ"\n#read("notes.txt") <chapter>\n'),
  "lib/parts/inner.typ": textFile('#set page("a7")\ninner #read("../notes.txt") #image("/assets/mark.svg")\n'),
  "lib/empty.typ": textFile(""),
  "lib/notes.txt": textFile("some *notes*"),
  "assets/mark.svg": textFile(MARK),
};

/** Most documents read none, and to write them takes as long as to render. */
const READS_FILES = /lib|assets/;

const DATA = { title: "Records", items: [1, 2.5, "three"], nothing: null, nested: { a: [true, false] } };

/** Documents that a file of lines does not hold. */
const BYTE_DOCUMENTS = [
  "\ufeff= Marked",
  "\ufeff#!/usr/bin/env typst\n= Marked",
  "#!/usr/bin/env typst\n#data.title",
  '#!x\r\n#set page("a7")\r\n= A',
  "#!/usr/bin/env typst",
  "= A\r\nb\rc\vd\fe\u0085f\u2028g\u2029= H",
  "\r= A",
  "\v= A",
  "a\0b",
  "a\ufeffb",
  "lorem ipsum ".repeat(43_690),
  `/*${"x".repeat(524_280)}*/ a`,
  // More than a FIFO holds.
  `#let x = "${"ä".repeat(40_000)}"\n#x.len()`,
];

const read = (name: string) => readFile(new URL(`../../support/documents/${name}`, import.meta.url), "utf8");
const readLines = async (name: string) => (await read(name)).split(/(?<=\n)/);
const readParts = async (name: string) => (await read(name)).split(/^---\n/m);

const documents = [...(await readLines("one-line-documents.typ")), ...(await readParts("documents.typ"))];
const rules = ["", ...(await readLines("one-line-rules.typ")), ...(await readParts("rules.typ"))];
const bodies = ["", ...(await readParts("bodies.typ"))];

let cold: TestBackend;
let warm: TestBackend;

beforeAll(async () => {
  const settings = { SERVICE_CREATION_TIMESTAMP: "1700000000", SERVICE_MAX_CONCURRENT_RENDERS: "2" };
  cold = await startTestBackend(settings);
  // One for each kind of request, with fonts and without.
  warm = await startTestBackend({ ...settings, SERVICE_WARM_RENDERS: String(2 * OUTPUTS.length) });
});
afterAll(async () => {
  await warm.close();
  await cold.close();
});

/** What a backend answers: the bytes of a file, or a problem without its own URL. */
async function answerOf(backend: TestBackend, body: object): Promise<{ status: number; bytes: Buffer }> {
  const answer = await backend.render(body);
  const bytes = Buffer.from(await answer.bytes());
  if (answer.status === 200) return { status: 200, bytes };
  const problem: object = JSON.parse(bytes.toString());
  return { status: answer.status, bytes: Buffer.from(JSON.stringify({ ...problem, instance: null })) };
}

type Answer = Awaited<ReturnType<typeof answerOf>>;
const areEqual = (left: Answer, right: Answer) => left.status === right.status && left.bytes.equals(right.bytes);

const warmTakes = () => warm.metric("service_warm_renders_used_total");

/** Renders documents both ways; a difference is named by its document, not by the bytes of the output. */
async function expectEqual(sources: readonly string[]): Promise<void> {
  const takesBefore = await warmTakes();
  const differences: string[] = [];
  let expectedTakes = -OUTPUTS.length;
  const renderAll = async (sources: readonly string[], outputs: readonly (typeof OUTPUTS)[number][]) => {
    for (const [index, source] of sources.entries()) {
      const output = outputs[index % outputs.length] ?? OUTPUTS[0];
      if (!("archive" in output)) expectedTakes++;
      const body = { source, ...(READS_FILES.test(source) && { files: FILES }), data: DATA, output };
      // One after the other: meanwhile the warm backend starts its next process of this kind.
      const isEqual = areEqual(await answerOf(cold, body), await answerOf(warm, body));
      if (!isEqual) differences.push(`${source.slice(0, 500)} as ${JSON.stringify(output)}`);
    }
  };
  const [pdf, ...others] = OUTPUTS;
  // One half as PDFs, and at the same time the other half in the other ways in turn.
  await Promise.all([
    renderAll(
      sources.filter((_source, index) => index % 2 === 0),
      [pdf],
    ),
    renderAll(
      sources.filter((_source, index) => index % 2 === 1),
      others,
    ),
  ]);
  expect(differences).toEqual([]);
  // All but the first of each kind have found a process waiting. One that has too few threads is not taken for an archive.
  expect(await warmTakes()).toBeGreaterThanOrEqual(takesBefore + expectedTakes);
}

describe("a document is the same from a process that has waited,", () => {
  it("by itself", async () => {
    await expectEqual(documents);
  });

  it("with every body under a quarter of the rules at the top, and every rule above a quarter of the bodies", async () => {
    const pairs = bodies.flatMap((body, left) =>
      rules.map((rule, right) => ({ source: rule + body, sum: left + right })),
    );
    await expectEqual(pairs.filter(({ sum }) => sum % 4 === 0).map(({ source }) => source));
  });

  it("with bytes that matter at its beginning or its end", async () => {
    await expectEqual(BYTE_DOCUMENTS);
  });
});
