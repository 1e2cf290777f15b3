/**
 * The Noto sets from Debian, and what the service renders with them: Chinese, Japanese, Korean, other scripts, emoji.
 */
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Capabilities } from "../../protocol/capabilities.ts";
import { addFontSets, findFontProblems } from "../../scripts/fonts/font-folder.ts";
import { startTestBackend, type TestBackend } from "../support/backend/test-backend.ts";
import { fontNamesOf } from "../support/fonts.ts";

let folder: string;
let withFonts: TestBackend;
let without: TestBackend;

beforeAll(async () => {
  folder = join(tmpdir(), `noto-test-${process.pid}`);
  await addFontSets(folder, ["noto"]);
  withFonts = await startTestBackend({ SERVICE_FONT_PATHS: folder });
  without = await startTestBackend();
  return async () => {
    await withFonts.close();
    await without.close();
    await rm(folder, { recursive: true, force: true });
  };
});

async function fontsOf(backend: TestBackend, source: string): Promise<Set<string>> {
  const answer = await backend.render({ source });
  expect(answer.status).toBe(200);
  return fontNamesOf(await answer.bytes());
}

async function imageOf(backend: TestBackend, text: string): Promise<PNG> {
  const source = `#set page(width: 30pt, height: 30pt, margin: 5pt)\n#text(size: 20pt)[${text}]`;
  const answer = await backend.render({ source, output: { format: "png", ppi: 72 } });
  expect(answer.status).toBe(200);
  return PNG.sync.read(Buffer.from(await answer.bytes()));
}

it("is as its lock file says", async () => {
  expect(await findFontProblems(folder)).toEqual([]);
});

describe("a document finds the right font by itself", () => {
  it.each([
    ["简体字", "zh", "NotoSansCJK"],
    ["日本語", "ja", "NotoSansCJK"],
    ["한국어", "ko", "NotoSansCJK"],
    ["नमस्ते", "hi", "Devanagari"],
    ["مرحبا", "ar", "Arabic"],
    ["ภาษาไทย", "th", "Thai"],
  ])("for %s", async (text, lang, font) => {
    const source = `#set text(lang: "${lang}")\n${text}`;
    expect([...(await fontsOf(withFonts, source))].join()).toContain(font);
    expect([...(await fontsOf(without, source))].join()).not.toContain(font);
  });

  it("and different characters have different shapes, which is not so without the fonts", async () => {
    const shapes = async (backend: TestBackend) => {
      const [first, second] = [await imageOf(backend, "漢"), await imageOf(backend, "字")];
      return first.data.equals(second.data) ? "equal" : "different";
    };
    expect(await shapes(withFonts)).toBe("different");
    expect(await shapes(without)).toBe("equal");
  });

  it("and emoji are in colour", async () => {
    const isColoured = ({ data }: PNG) =>
      Array.from({ length: data.length / 4 }, (_, pixel) => data.subarray(4 * pixel, 4 * pixel + 3)).some(
        ([red = 0, green = 0, blue = 0]) => Math.max(red, green, blue) - Math.min(red, green, blue) > 100,
      );
    expect(isColoured(await imageOf(withFonts, "🍎"))).toBe(true);
    expect(isColoured(await imageOf(without, "🍎"))).toBe(false);
  });
});

it("publishes the families of each set, and no monospaced ones of the collection", async () => {
  const { fonts }: Capabilities = await (await withFonts.fetch("/capabilities.json")).json();
  const families = fonts.map(({ family }) => family);
  for (const language of ["SC", "TC", "HK", "JP", "KR"]) expect(families).toContain(`Noto Sans CJK ${language}`);
  expect(families).toEqual(expect.arrayContaining(["Noto Sans", "Noto Serif", "Noto Sans Arabic", "Noto Color Emoji"]));
  expect(families.filter((family) => /Mono CJK/.test(family))).toEqual([]);
});
