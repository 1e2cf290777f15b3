/** Reads the codes of the example label as two decoders do that share no code: zxing-cpp and ZBar. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { scanRGBABuffer } from "@undecaf/zbar-wasm";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, it } from "vitest";
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { sharedService } from "../../support/service/test-service.ts";

interface LabelData {
  readonly dots_per_inch: number;
  readonly labels: readonly { readonly code: string; readonly link: string }[];
}

const EXAMPLE = new URL("../../../examples/label/", import.meta.url);
const service = await sharedService();

beforeAll(async () => {
  // Otherwise it is fetched from a server.
  const path = createRequire(import.meta.url).resolve("zxing-wasm/reader/zxing_reader.wasm");
  const { buffer: wasmBinary } = new Uint8Array(await readFile(path));
  await prepareZXingModule({ overrides: { wasmBinary }, fireImmediately: true });
});

async function dataOf(file: string): Promise<LabelData> {
  return JSON.parse(await readFile(new URL(file, EXAMPLE), "utf8"));
}

async function render(request: object): Promise<Buffer> {
  const answer = await service.render(request);
  const bytes = Buffer.from(await answer.bytes());
  expect(answer.status, bytes.toString("utf8")).toBe(200);
  return bytes;
}

async function renderLabel(data: object, output: object): Promise<Buffer> {
  return await render({ ...JSON.parse(await exampleRequest("label")), data, output });
}

/** What each decoder reads, in the order of the alphabet. */
async function readCodes(png: Buffer): Promise<{ zxing: string[]; zbar: string[] }> {
  const { width, height, data } = PNG.sync.read(png);
  const pixels = { width, height, data: new Uint8ClampedArray(data), colorSpace: "srgb" } as ImageData;
  const zxing = await readBarcodes(pixels, { formats: ["QRCode", "Code128"] });
  const zbar = await scanRGBABuffer(new Uint8Array(data).buffer, width, height);
  return {
    zxing: zxing.map(({ text }) => text).toSorted(),
    zbar: zbar.map((symbol) => symbol.decode()).toSorted(),
  };
}

function codesOf(data: LabelData) {
  const codes = data.labels.flatMap(({ code, link }) => [code, link]).toSorted();
  return { zxing: codes, zbar: codes };
}

describe.each(["data.json", "cases/sheet.json"])("the codes of %s", (file) => {
  it.each([
    [203, 203],
    [300, 300],
    [600, 300],
  ])("are read from the PNG for a printer of %i dots per inch", async (dots, ppi) => {
    const data = { ...(await dataOf(file)), dots_per_inch: dots };
    expect(await readCodes(await renderLabel(data, { format: "png", ppi }))).toEqual(codesOf(data));
  });

  it.each([203, 300, 600])("are read from the PDF for a printer of %i dots per inch", async (dots) => {
    const data = { ...(await dataOf(file)), dots_per_inch: dots };
    const pdf = await renderLabel(data, { format: "pdf" });
    const source = '#set page(width: auto, height: auto, margin: 0pt)\n#image("label.pdf")';
    const files = { "label.pdf": { encoding: "base64", content: pdf.toString("base64") } };
    const png = await render({ source, files, output: { format: "png", ppi: 300 } });
    expect(await readCodes(png)).toEqual(codesOf(data));
  });
});

it("every bar begins and ends at a dot: bars and spaces are whole modules, as wide as each other", async () => {
  for (const [dots, ppi] of [
    [203, 203],
    [300, 300],
    [600, 300],
  ]) {
    const png = await renderLabel({ ...(await dataOf("data.json")), dots_per_inch: dots }, { format: "png", ppi });
    const { width, height, data } = PNG.sync.read(png);
    // Through the bar code, which is at 118 to 140 of 152.4 mm.
    const start = Math.round((130 / 152.4) * height) * width * 4;
    const line = Array.from({ length: width }, (_, x) =>
      data[start + 4 * x] === 0 ? "#" : data[start + 4 * x] === 255 ? "." : "?",
    );
    const runs = (line.join("").match(/#+|\.+|\?+/g) ?? []).slice(1, -1).map((run) => run.length);
    const module = Math.min(...runs);
    expect(module, `${dots} dots per inch`).toBeGreaterThan(1);
    expect(runs.filter((length) => length % module !== 0)).toEqual([]);
  }
});
