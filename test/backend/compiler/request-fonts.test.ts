/** Fonts among the files of a request. */
import { existsSync } from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { binaryFile, type SentFile } from "../../support/backend/request-files.ts";
import {
  expectNothingLeft,
  startSharedBackend,
  startTemporaryBackend,
  type TestBackend,
} from "../../support/backend/test-backend.ts";
import { eachSandbox, MODES, openTestSandbox } from "../../support/backend/test-sandbox.ts";
import { doubledFont, fontNamesOf, LIBERATION_FAMILY, liberation } from "../../support/fonts.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

type Files = Readonly<Record<string, SentFile>>;

const REGULAR = binaryFile(await liberation("Regular"));
const HELLO = `#set text(font: "${LIBERATION_FAMILY}")\nHello`;

async function namesIn(backend: TestBackend, source: string, files: Files = {}): Promise<Set<string>> {
  return fontNamesOf(await backend.renderFile({ source, files }));
}

/** A Typst expression: whether Liberation Sans is available. The width tells, whatever Typst uses instead. */
const HAS_FONT = `(() => {
  let width(family) = measure(text(font: family, size: 100pt)[Wimmer]).width
  width("${LIBERATION_FAMILY}") != width("no such font")
})()`;

async function statusOf(backend: TestBackend, body: object): Promise<number> {
  const answer = await backend.render(body);
  await answer.bytes();
  return answer.status;
}

eachSandbox(describe, MODES)("in %s a font of the files", (sandbox) => {
  it("is in the document of its request and in no other", async () => {
    const backend = await startTemporaryBackend({ SERVICE_SANDBOX: sandbox });
    expect(await namesIn(backend, HELLO)).not.toContain("LiberationSans");
    expect(await namesIn(backend, HELLO, { "brand.ttf": REGULAR })).toEqual(new Set(["LiberationSans"]));
    expect(await namesIn(backend, HELLO)).not.toContain("LiberationSans");
    expect(await namesIn(backend, HELLO, { "brand.txt": REGULAR })).not.toContain("LiberationSans");
    await expectNothingLeft(backend);
  });
});

describe("a font of the files", async () => {
  const backend = await startSharedBackend();

  // Typst itself looks for the first three alone.
  it.each([
    "brand.ttf",
    "BRAND.TTF",
    "a/deep/place/of/-brand.otc",
    "Brand.Ttf",
    "fonts/brand.oTF",
    "..otf",
    "fonts/.TTF",
  ])("is found as %s", async (key) => {
    expect(await namesIn(backend, HELLO, { [key]: REGULAR })).toContain("LiberationSans");
    await expectNothingLeft(backend);
  });

  it("is available to the next request that brings it, even with a warm process", async () => {
    const backend = await startTemporaryBackend({ SERVICE_WARM_RENDERS: "1" });
    const taken = () => backend.metric("service_warm_renders_used_total");
    const isWaiting = () =>
      expect.poll(async () => [await taken(), (await backend.projects()).length]).toEqual([expect.any(Number), 1]);
    const files = { "brand.ttf": REGULAR };
    await namesIn(backend, HELLO);
    await isWaiting();
    expect(await namesIn(backend, HELLO, files)).toContain("LiberationSans");
    expect(await taken()).toBe(0);
    await isWaiting();
    expect(await namesIn(backend, HELLO, files)).toContain("LiberationSans");
    expect(await taken()).toBe(1);
    await isWaiting();
    expect(await namesIn(backend, HELLO)).not.toContain("LiberationSans");
    expect(await taken()).toBe(1);
  });

  it("is used when pages of a PDF are selected", async () => {
    // Pages that look like the placeholder for no page, so that the document is compiled again.
    const source = `#set page(width: 595pt, height: 842pt)\n#context if ${HAS_FONT} { pagebreak() }`;
    const body = { source, output: { pages: "2" } };
    expect(await statusOf(backend, { ...body, files: { "brand.ttf": REGULAR } })).toBe(200);
    expect(await statusOf(backend, body)).toBe(422);
  });

  it.each(["brand.woff", "brand.woff2", "brand.ttf.bak", "brandttf", "ttf", "brand.ttf/readme.txt"])(
    "does not count as a font with the name %s",
    async (key) => {
      expect(await namesIn(backend, HELLO, { [key]: REGULAR })).not.toContain("LiberationSans");
    },
  );

  it("is found even if the path of the work directory contains a colon", async () => {
    const folder = await makeTemporaryFolder("fonts:test-");
    const backend = await startTemporaryBackend({ SERVICE_WORK_DIRECTORY: folder, SERVICE_SANDBOX: "none" });
    expect(await namesIn(backend, HELLO, { "brand.ttf": REGULAR })).toContain("LiberationSans");
  });

  it("takes its space once, under whatever name Typst finds it", async () => {
    const { settings } = await openTestSandbox("none");
    const body = Buffer.from(JSON.stringify({ source: "x", files: { "Brand.Ttf": REGULAR } }));
    const parsed = parseRenderRequest(body, settings.limits);
    if (!parsed.ok) throw new Error(parsed.problem.detail);
    const project = await RenderDirectory.create(settings.workDirectory, false);
    await project.fill(body, parsed.request, new AbortController().signal);
    expect((await readdir(project.root)).toSorted()).toEqual(["+font-0", ":data.json", "Brand.Ttf"]);
    const names = ["Brand.Ttf", "+font-0/font.ttf"];
    const inodes = await Promise.all(names.map(async (name) => (await stat(join(project.root, name))).ino));
    expect(new Set(inodes).size).toBe(1);
    await project.remove();
    expect(existsSync(project.root)).toBe(false);
  });
});

describe("of fonts of one family and style", async () => {
  const backend = await startSharedBackend();

  const widthOf = async (backend: TestBackend, family: string, files: Files = {}) => {
    const source = `#context [#measure(text(font: "${family}", size: 100pt)[Wimmer]).width]`;
    const answer = await backend.render({ source, files });
    return (await readPdf(await answer.bytes())).pageTexts.join();
  };

  it("the operator's has priority over one of the files, which adds what the operator does not have", async () => {
    const folder = await makeTemporaryFolder("fonts-test-");
    await writeFile(join(folder, "regular.ttf"), await liberation("Regular"));
    const backend = await startTemporaryBackend({ SERVICE_FONT_PATHS: folder });
    const operators = await widthOf(backend, LIBERATION_FAMILY);
    const own = binaryFile(await doubledFont(LIBERATION_FAMILY));
    expect(await widthOf(backend, LIBERATION_FAMILY, { "own.ttf": own })).toBe(operators);
    expect(await widthOf(await startTemporaryBackend(), LIBERATION_FAMILY, { "own.ttf": own })).not.toBe(operators);
    const bold = binaryFile(await liberation("Bold"));
    expect(await namesIn(backend, `${HELLO} *loud*`, { "bold.ttf": bold })).toEqual(
      new Set(["LiberationSans", "LiberationSans-Bold"]),
    );
  });

  it.each([
    ["a.ttf", "b.ttf"],
    ["fonts/Sans-Regular.ttf", "fonts/SansCondensed-Regular.ttf"],
    ["deep/in/a/folder/z.otf", "y.ttf"],
    ["0.TTF", "fonts/0.Ttf"],
    ["_1.ttf", "_10.ttf"],
    ["fonts/a/regular.ttf", "fonts/b.ttf"],
  ])("the one whose key comes first has priority: %s before %s", async (first, second) => {
    const wide = binaryFile(await doubledFont(LIBERATION_FAMILY));
    const width = (files: Files) => widthOf(backend, LIBERATION_FAMILY, files);
    expect(await width({ [second]: REGULAR, [first]: wide })).toBe(await width({ [first]: wide }));
    expect(await width({ [second]: wide, [first]: REGULAR })).toBe(await width({ [first]: REGULAR }));
    await expectNothingLeft(backend);
  });

  it("Typst's own has priority over one of the files", async () => {
    const backend = await startTemporaryBackend();
    const [serif, other] = [await doubledFont("Libertinus Serif"), await doubledFont("Other Serif")].map(binaryFile);
    if (serif === undefined || other === undefined) throw new Error("no fonts");
    const typsts = await widthOf(backend, "Libertinus Serif");
    expect(await widthOf(backend, "Libertinus Serif", { "own.ttf": serif })).toBe(typsts);
    expect(await widthOf(backend, "Other Serif", { "own.ttf": other })).not.toBe(typsts);
  });
});
