/**
 * Hostile fonts among the `files` of a request. Typst ignores most of them and uses another font; some load but cannot
 * be embedded in a PDF; the expensive ones run into the limits of every render. The service survives all of them.
 */
import { describe, expect, it } from "vitest";
import { binaryFile, type SentFile, textFile } from "../../support/backend/request-files.ts";
import { expectNothingLeft, sharedBackends, type TestBackend } from "../../support/backend/test-backend.ts";
import { fontNamesOf, LIBERATION_FAMILY, liberation } from "../../support/fonts.ts";
import { expectProblem } from "../../support/problems.ts";
import {
  boundlessCollection,
  recursiveCollection,
  repeatedCollection,
  truncations,
  withBrokenTables,
  withGlyphsThatDouble,
  withLongNames,
  withMostTables,
  withoutOutlines,
  withTableRecords,
} from "./hostile-fonts.ts";

const MEBIBYTE = 1024 ** 2;
const MAX_UINT16 = 0xffff;
const MAX_UINT32 = 0xffffffff;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const SOURCE = `#set text(font: "${LIBERATION_FAMILY}")\n${ALPHABET}`;
const PNG = { format: "png" };

const LIMITS = {
  SERVICE_MAX_CONCURRENT_RENDERS: "2",
  // The limits on memory and on processor time stop the renders here, however slow the machine is.
  SERVICE_RENDER_TIMEOUT_SECONDS: "60",
  SERVICE_RENDER_MEMORY_BYTES: String(256 * MEBIBYTE),
};

type Files = Readonly<Record<string, SentFile>>;

const limitedBackend = sharedBackends(LIMITS);

const sent = (fonts: readonly Buffer[], extension = "ttf"): Files =>
  Object.fromEntries(fonts.map((font, index) => [`${index}.${extension}`, binaryFile(font)]));

const fontsUsed = async (backend: TestBackend, files: Files) =>
  fontNamesOf(await backend.rendered({ source: SOURCE, files }));

const ordinaryRender = (backend: TestBackend) => backend.rendered({ source: "An ordinary letter" });

const SOUND = await liberation("Regular");

it("a valid font is used, so the tests below can tell when another one is", async () => {
  expect(await fontsUsed(await limitedBackend(), sent([SOUND]))).toEqual(new Set(["LiberationSans"]));
});

describe("a file that Typst cannot load as a font is ignored", () => {
  const GARBAGE = textFile("x".repeat(MEBIBYTE - 8192));

  it.each<[string, () => Files, Readonly<Record<string, string>>?]>([
    ["a font cut off at 64 places", () => sent(truncations(SOUND, 64))],
    ["a font that claims 65535 tables", () => sent([withMostTables(SOUND)])],
    [
      "a table of names that claims four gigabytes and ends before",
      () => sent([withLongNames(withoutOutlines(SOUND), MAX_UINT16, 1000)]),
    ],
    ["a collection of itself", () => sent([recursiveCollection()], "ttc")],
    ["empty files", () => sent(Array.from({ length: 64 }, () => Buffer.alloc(0)))],
    [
      "64 MB of garbage",
      () => Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`${index}.otf`, GARBAGE])),
      { SERVICE_MAX_REQUEST_BODY_BYTES: String(64 * MEBIBYTE) },
    ],
    [
      "the beginning of a font and then garbage",
      () =>
        sent(
          Array.from({ length: 12 }, () => Buffer.concat([SOUND.subarray(0, 400), Buffer.alloc(MEBIBYTE - 400, 0x79)])),
        ),
    ],
  ])("%s", async (_what, files, settings) => {
    const backend = await limitedBackend(settings);
    const [used] = await Promise.all([fontsUsed(backend, files()), ordinaryRender(backend)]);
    expect(used).not.toContain("LiberationSans");
    await expectNothingLeft(backend);
  });
});

describe("a font with false tables", () => {
  it("fails its own render at most, and never as a failure of the service", async () => {
    const backend = await limitedBackend();
    const requests = [
      ...withBrokenTables(SOUND).map((font) => [font]),
      withTableRecords(SOUND, 8, MAX_UINT32),
      withTableRecords(SOUND, 12, MAX_UINT32),
    ];
    const codes = new Set<string>();
    for (const [index, fonts] of requests.entries()) {
      const output = index % 4 < 2 ? {} : PNG;
      const answer = await backend.render({ source: SOURCE, files: sent(fonts), output });
      if (answer.status === 200) await answer.bytes();
      else await expectProblem(answer, "template_compile_failed");
      codes.add(String(answer.status));
    }
    // Typst can use some of them, and not others.
    expect(codes).toEqual(new Set(["200", "422"]));
    await ordinaryRender(backend);
    await expectNothingLeft(backend);
  });

  it("does not hide a valid font of the same name", async () => {
    const backend = await limitedBackend();
    const files = sent([...truncations(SOUND, 32), SOUND, withMostTables(SOUND)]);
    expect(await fontsUsed(backend, files)).toEqual(new Set(["LiberationSans"]));
  });
});

describe("a thousand fonts", () => {
  it("take time, but the document is rendered", async () => {
    const backend = await limitedBackend({
      SERVICE_MAX_INLINE_FILES: "1024",
      SERVICE_MAX_REQUEST_BODY_BYTES: String(64 * MEBIBYTE),
    });
    // Without outlines they are small enough for a request.
    const small = withoutOutlines(SOUND);
    const files = sent(Array.from({ length: 1024 }, () => small));
    await Promise.all([backend.rendered({ source: "Hello", files }), ordinaryRender(backend)]);
    await expectNothingLeft(backend);
  });
});

describe("an expensive font is stopped by the limits of every render", () => {
  interface Attack {
    readonly files: Files;
    readonly control: Files;
    readonly output?: object;
  }

  it.each<[string, Attack]>([
    [
      "glyphs that double twenty-seven times",
      {
        files: sent([withGlyphsThatDouble(SOUND, 28)]),
        control: sent([withGlyphsThatDouble(SOUND, 8)]),
        output: PNG,
      },
    ],
    [
      "four gigabytes of names",
      {
        files: sent([withLongNames(withoutOutlines(SOUND), MAX_UINT16, MAX_UINT16)]),
        control: sent([withLongNames(withoutOutlines(SOUND), 9, 9)]),
      },
    ],
    [
      "one font two hundred thousand times in each of twelve collections",
      {
        files: sent(
          Array.from({ length: 12 }, () => repeatedCollection(withoutOutlines(SOUND), 200_000)),
          "ttc",
        ),
        control: sent(
          Array.from({ length: 12 }, () => repeatedCollection(withoutOutlines(SOUND), 20)),
          "ttc",
        ),
      },
    ],
  ])("memory: %s", async (_what, { files, control, output = {} }) => {
    const backend = await limitedBackend({ SERVICE_RENDER_CPU_SECONDS: "60" });
    const attack = backend.render({ source: SOURCE, files, output });
    const [problem] = await Promise.all([
      attack.then((answer) => expectProblem(answer, "template_compile_failed")),
      backend.rendered({ source: SOURCE, files: control, output }),
    ]);
    expect(problem.detail).toContain("memory");
    await expectNothingLeft(backend);
  });

  it("processor time: a collection of sixteen bytes that claims four thousand million fonts", async () => {
    const backend = await limitedBackend({ SERVICE_RENDER_CPU_SECONDS: "1" });
    const files = sent([boundlessCollection()], "otc");
    const attack = backend.render({ source: SOURCE, files });
    const [problem] = await Promise.all([
      attack.then((answer) => expectProblem(answer, "render_timeout")),
      // The font alone is the cause: under another name Typst does not read it.
      backend.rendered({ source: SOURCE, files: sent([boundlessCollection()], "bin") }),
    ]);
    expect(problem.detail).toContain("processor time");
    await expectNothingLeft(backend);
  });
});
