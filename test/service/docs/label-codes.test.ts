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

/** The lengths of bars and spaces in dots, through the bar code, which is at 118 to 140 of 152.4 mm. */
function barsOf(png: Buffer): number[] {
  const { width, height, data } = PNG.sync.read(png);
  const start = Math.round((130 / 152.4) * height) * width * 4;
  const line = Array.from({ length: width }, (_, x) =>
    data[start + 4 * x] === 0 ? "#" : data[start + 4 * x] === 255 ? "." : "?",
  );
  return (line.join("").match(/#+|\.+|\?+/g) ?? []).slice(1, -1).map((run) => run.length);
}

// Labels of a sheet begin at whole inches, so that they are where they would be alone, for a printer of any dots.
describe.each([
  ["data.json", 203, 203],
  ["data.json", 300, 300],
  ["data.json", 600, 300],
  ["cases/sheet.json", 300, 300],
])("the codes of %s, for a printer of %i dots per inch,", (file, dots, ppi) => {
  const changedData = async () => ({ ...(await dataOf(file)), dots_per_inch: dots });

  it("are read from the PNG, where bars and spaces are whole modules, as wide as each other", async () => {
    const data = await changedData();
    const png = await renderLabel(data, { format: "png", ppi });
    expect(await readCodes(png)).toEqual(codesOf(data));
    if (file !== "data.json") return;
    const bars = barsOf(png);
    const module = Math.min(...bars);
    expect(module).toBeGreaterThan(1);
    expect(bars.filter((length) => length % module !== 0)).toEqual([]);
  });

  it("are read from the PDF", async () => {
    const data = await changedData();
    const pdf = await renderLabel(data, { format: "pdf" });
    const source = '#set page(width: auto, height: auto, margin: 0pt)\n#image("label.pdf")';
    const files = { "label.pdf": { encoding: "base64", content: pdf.toString("base64") } };
    const png = await render({ source, files, output: { format: "png", ppi: 300 } });
    expect(await readCodes(png)).toEqual(codesOf(data));
  });
});
