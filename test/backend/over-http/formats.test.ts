/** Answers in every output format: bytes that an independent reader accepts, and their headers. */
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { startSharedBackend } from "../../support/backend/test-backend.ts";
import { readDisposition } from "../../support/readers/content-disposition.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { readSvgSize } from "../../support/readers/svg-reader.ts";
import { readZip } from "../../support/readers/zip-reader.ts";

const backend = await startSharedBackend();

/** 144 by 72 points, which is 288 by 144 pixels at the default of 144 pixels per inch. */
const SOURCE = "#set page(width: 144pt, height: 72pt, margin: 6pt)\nHello";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Renders the source and expects the headers that all formats have in common. */
async function renderOk(output: object) {
  const answer = await backend.render({ source: SOURCE, output });
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.status, bytes.toString("utf8")).toBe(200);
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(answer.headers.get("Content-Length")).toBe(String(bytes.length));
  expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
  expect(answer.headers.get("X-Request-Id")).toMatch(UUID);
  return { answer, headers: answer.headers, bytes };
}

describe("a PDF", () => {
  it("is the default output", async () => {
    const answer = await backend.render({ source: SOURCE });
    expect(answer.headers.get("Content-Type")).toBe("application/pdf");
    const pdf = await readPdf(await answer.bytes());
    expect(pdf).toMatchObject({ headerVersion: "1.7", pageTexts: ["Hello"], pageSizes: [[144, 72]] });
  });

  it("is shown inline under a default name", async () => {
    const { answer, headers, bytes } = await renderOk({ format: "pdf" });
    expect(headers.get("Content-Type")).toBe("application/pdf");
    expect(readDisposition(answer)).toMatchObject({ type: "inline", name: "document.pdf" });
    expect(headers.has("Content-Security-Policy")).toBe(false);
    expect((await readPdf(bytes)).pageTexts).toEqual(["Hello"]);
  });
});

describe("a PNG", () => {
  it("has 144 pixels per inch by default", async () => {
    const { answer, headers, bytes } = await renderOk({ format: "png" });
    expect(headers.get("Content-Type")).toBe("image/png");
    expect(readDisposition(answer)).toMatchObject({ type: "inline", name: "document.png" });
    const { width, height } = PNG.sync.read(bytes);
    expect([width, height]).toEqual([288, 144]);
  });

  it.each([
    [1, 2, 1],
    [72, 144, 72],
    [300, 600, 300],
  ])("has the size that %i pixels per inch give", async (ppi, expectedWidth, expectedHeight) => {
    const { bytes } = await renderOk({ format: "png", ppi });
    const { width, height } = PNG.sync.read(bytes);
    expect([width, height]).toEqual([expectedWidth, expectedHeight]);
  });
});

describe("an SVG", () => {
  it("is well-formed and must not run or load anything", async () => {
    const { answer, headers, bytes } = await renderOk({ format: "svg" });
    expect(headers.get("Content-Type")).toBe("image/svg+xml");
    expect(readDisposition(answer)).toMatchObject({ type: "inline", name: "document.svg" });
    expect(readSvgSize(bytes)).toEqual([144, 72]);
    const policy = headers.get("Content-Security-Policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/(?:^|; )sandbox(?:;|$)/);
    expect(policy).not.toMatch(/script-src|allow-scripts|http/);
  });
});

describe("a ZIP", () => {
  it.each(["png", "svg"])("of %s pages is an attachment", async (format) => {
    const { answer, headers, bytes } = await renderOk({ format, archive: "zip" });
    expect(headers.get("Content-Type")).toBe("application/zip");
    expect(readDisposition(answer)).toMatchObject({ type: "attachment", name: "document.zip" });
    expect(readZip(bytes).map(({ name }) => name)).toEqual([`page-01.${format}`]);
  });
});

describe("the name of an answer", () => {
  const _offered = async (output: object) => readDisposition((await renderOk(output)).answer);

  it("cannot break out of its header", async () => {
    const { answer, headers } = await renderOk({ filename: 'a"; filename="evil.exe\r\nSet-Cookie: x=1' });
    expect(readDisposition(answer).name).toBe("a filename=evil.exeSet-Cookie x=1.pdf");
    expect(headers.has("Set-Cookie")).toBe(false);
  });
});
