/**
 * The Noto sets from Debian, and what the service renders with them: Chinese, Japanese, Korean, other scripts, emoji.
 */
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, it } from "vitest";
import { readDocumentFonts } from "../../../clients/document/fonts/document-fonts.ts";
import { describeDocumentFonts } from "../../../clients/document/fonts/font-findings.ts";
import type { Capabilities } from "../../../protocol/capabilities.ts";
import { addFontSets, findFontProblems } from "../../../scripts/fonts/font-folder.ts";
import { SCRIPTS_OF_TYPST, scriptOf } from "../../../typst/fonts/scripts.ts";
import { startTestBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { SAMPLES } from "../../support/documents/scripts.ts";
import { fontNamesOf } from "../../support/fonts.ts";

const LANGUAGES = fileURLToPath(new URL("../../../docs/languages.md", import.meta.url));

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

describe("the samples of thirty languages", () => {
  it.each(SAMPLES)("are as they should be, with nothing to be told: $name", async ({ lang, text }) => {
    const answer = await withFonts.render({ source: `#set text(lang: "${lang}")\n${text}` });
    const fonts = readDocumentFonts(await answer.bytes());
    if (fonts === null) throw new Error("it is not read");
    expect(describeDocumentFonts(fonts, new Set())).toEqual([]);
  });

  it("are in scripts that the backend publishes, which are those of docs/languages.md", async () => {
    const { scripts = [] }: Capabilities = await (await withFonts.fetch("/capabilities.json")).json();
    const used = new Set(SAMPLES.flatMap(({ text }) => [...text].map(scriptOf)).filter((script) => script !== null));
    expect([...used].filter((script) => !scripts.includes(script))).toEqual([]);
    const added = scripts.filter((script) => !SCRIPTS_OF_TYPST.some((own) => own === script));
    expect(await readFile(LANGUAGES, "utf8")).toContain(`adds ${added.length} more`);
    for (const script of ["Mong", "Syrc", "Thaa", "Nkoo", "Java", "Tfng"]) expect(scripts).not.toContain(script);
  });
});

describe("a part of a Japanese font, made as docs/languages.md says", () => {
  it("has the characters of a letter, is small enough, and is what the document is set in", async () => {
    const commands = /```sh\n(pip install [^`]*)```/.exec(await readFile(LANGUAGES, "utf8"))?.[1] ?? "";
    const work = join(folder, "recipe");
    await mkdir(work);
    await copyFile(join(folder, "noto-cjk/NotoSansCJK-Regular.ttc"), join(work, "NotoSansCJK-Regular.ttc"));
    const letter = "拝啓 時下ますますご清栄のこととお慶び申し上げます。山田商店 請求書 合計金額";
    await writeFile(join(work, "letter.txt"), letter);
    await execa("python3", ["-m", "venv", "venv"], { cwd: work });
    const script = `set -e\n. venv/bin/activate\n${commands}`;
    await execa("sh", ["-c", script], { cwd: work, env: { PIP_DISABLE_PIP_VERSION_CHECK: "1" } });
    const font = await readFile(join(work, "letter.otf"));
    expect(font.length).toBeLessThan(20_000);
    const source = `#set text(font: "Noto Sans CJK JP", lang: "ja")\n${letter}`;
    const files = { "letter.otf": { encoding: "base64", content: font.toString("base64") } };
    const answer = await without.render({ source, files, output: { format: "pdf", standards: ["a-2u"] } });
    expect(answer.status).toBe(200);
    expect([...fontNamesOf(await answer.bytes())].filter((name) => !/^LibertinusSerif-/.test(name))).toEqual([
      "NotoSansCJKjp-Regular",
    ]);
  });
});

it("publishes the families of each set, and no monospaced ones of the collection", async () => {
  const { fonts }: Capabilities = await (await withFonts.fetch("/capabilities.json")).json();
  const families = fonts.map(({ family }) => family);
  for (const language of ["SC", "TC", "HK", "JP", "KR"]) expect(families).toContain(`Noto Sans CJK ${language}`);
  expect(families).toEqual(expect.arrayContaining(["Noto Sans", "Noto Serif", "Noto Sans Arabic", "Noto Color Emoji"]));
  expect(families.filter((family) => /Mono CJK/.test(family))).toEqual([]);
});
