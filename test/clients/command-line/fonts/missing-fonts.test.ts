/**
 * Fonts and characters that are missing, as `render` and `check` report them, with the real service and the real Typst. What
 * each sentence is about is decided in `test/clients/document/fonts/`.
 */
import { access, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { FONT_REMEDY } from "../../../../clients/document/fonts/font-findings.ts";
import { CAPABILITIES_PATH, capabilitiesOf, MAX_CAPABILITIES_BYTES } from "../../../../protocol/capabilities.ts";
import { makeProject, type ProjectFiles, runCommand, runnerInProjects } from "../../../support/clients/command-line.ts";
import { packageManifest } from "../../../support/clients/package-registry.ts";
import { type PassingAnswer, startTamperingProxy } from "../../../support/clients/tampering-proxy.ts";
import {
  doubledFont,
  LIBERATION_FAMILY,
  LIBERATION_FOLDER,
  liberation,
  nameTable,
  withTables,
} from "../../../support/fonts.ts";
import { startTestService, type TestService } from "../../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../../support/tokens.ts";

/** Of the operator: callers do not see them. */
const PACKAGES = {
  chart: "#let chart = [chart]",
  icon: '#let phone = text(font: "Font Awesome 7 Free", "\\u{41}")',
  plain: "#let plain(body) = emph(body)",
};

let service: TestService;
let url: string;
let packages: string;
let fonts: string;

beforeAll(async () => {
  packages = await realpath(await mkdtemp(join(tmpdir(), "missing-fonts-test-")));
  for (const [name, source] of Object.entries(PACKAGES)) {
    const folder = join(packages, "local", name, "1.0.0");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "typst.toml"), packageManifest(`@local/${name}:1.0.0`));
    await writeFile(join(folder, "lib.typ"), source);
  }
  fonts = join(packages, "fonts");
  await mkdir(fonts);
  await cp(LIBERATION_FOLDER, fonts, { recursive: true });
  await writeFile(
    join(fonts, "of-the-service.ttf"),
    withTables(await liberation("Regular"), { name: nameTable("Of The Service") }),
  );
  const backendSettings = { SERVICE_FONT_PATHS: fonts, SERVICE_PACKAGE_PATH: packages };
  service = await startTestService({ backendSettings });
  url = service.edge.url.origin;
  return async () => {
    await service.stop();
    await rm(packages, { recursive: true });
  };
});

const inProject = runnerInProjects(() => url);

const LACKING = { "a.typ": '#set text(font: "Libertine")\nGrüße an 山田' };
const FAMILY_WARNING =
  'The service has no font family "Libertine", and the request brings none: Typst uses another font.';

const own = async (family: string, more: Readonly<Record<string, Buffer>> = {}) =>
  withTables(await liberation("Regular"), { name: nameTable(family), ...more });
const svg = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 40">${content}</svg>`;

/** What a project lacks, by what the request and the document show: render and check say all of it. */
const LACKING_PROJECTS: readonly (readonly [what: string, files: ProjectFiles, said: readonly (string | RegExp)[]])[] =
  [
    [
      "the request",
      {
        "a.typ": '#set text(font: ("Haldn Text", "Halden", "Of The Servce", "Odd", "Own"))\n#image("a.svg")',
        "a.svg": svg('<foreignObject><p>x</p></foreignObject><text y="28" font-family="Nope, sans-serif">x</text>'),
        "fonts/a.ttf": await own("Halden Text"),
        "fonts/own.ttf": await own("Own"),
        "fonts/own-wide.ttf": withTables(await doubledFont("x"), { name: nameTable("Own") }),
        "fonts/brand.woff2": "wOF2",
        "lib/odd.ttf": await own("Odd", { name: nameTable("Odd", { 6: null }) }),
      },
      [
        /font family "haldn text".* Did you mean Halden Text\?\n/i,
        /"halden".* Did you mean Halden Text\?\n/i,
        /"of the servce".* Did you mean Of The Service\?\n/i,
        /font family "odd"/i,
        "fonts/brand.woff2 is WOFF2, which Typst does not read. Convert it to TTF or OTF: fonttools ttLib fonts/brand.woff2 -o fonts/brand.ttf\n",
        'a.svg has text in "Nope", which neither the service nor the request has: Typst uses another font.',
        "a.svg: Typst does not draw the text in foreignObject.",
      ],
    ],
    [
      "the document",
      {
        "a.typ": '= Title\n\n山田 #text("\\u{f133}") नमस्ते سلام #image("a.svg")',
        "a.svg": svg('<text y="28" font-size="24">川</text>'),
      },
      [
        /3 characters of the document are empty boxes, .*田 \(U\+7530\)|No font of this machine has 山 \(U\+5C71\), 田 \(U\+7530\), 川 \(U\+5DDD\), first in a\.typ:3: /,
        FONT_REMEDY,
        /No icon font has .* \(U\+F133\), so Typst draws other signs of New Computer Modern/,
        "No font for text has the letters of Devanagari, so Typst sets them in New Computer Modern Math",
        "No font for text has the letters of Arabic, so Typst sets them in DejaVu Sans Mono",
      ],
    ],
  ];

describe("render and check, of PDFs and images, with --strict or not", () => {
  it.each(LACKING_PROJECTS)("name what %s shows to be missing", async (_what, files, said) => {
    for (const command of ["render", "check"]) {
      const { stderr, exitCode } = await inProject(files, [command, "a.typ"]);
      for (const sentence of said) expect(stderr).toMatch(sentence);
      expect(exitCode).toBe(0);
      for (const output of ["a.pdf", "a.png"]) {
        const strict = await inProject(files, [command, "a.typ", "--strict", "-o", output]);
        for (const sentence of said) expect(strict.stderr).toMatch(sentence);
        expect(strict.exitCode).toBe(4);
      }
    }
  });

  it("note, without an end of its own, fonts that Typst does not see or cannot tell apart, and draw the same one", async () => {
    const files = {
      "a.typ": '#set page(width: auto, height: auto, margin: 0pt)\n#set text(font: "Own")\nWide or narrow',
      "fonts/Own-Regular.ttf": await own("Own"),
      "fonts/OwnCondensed-Regular.ttf": withTables(await doubledFont("x"), { name: nameTable("Own Condensed") }),
      "lib/odd.ttf": await own("Own", { name: nameTable("Own", { 6: null }) }),
    };
    const pages: Buffer[] = [];
    for (const command of ["render", "check"]) {
      const { folder, stderr, exitCode } = await inProject(files, [command, "a.typ", "--strict", "-o", "a.png"]);
      expect(stderr).toContain("note: fonts/Own-Regular.ttf and fonts/OwnCondensed-Regular.ttf are the same to Typst");
      expect(stderr).toContain("note: lib/odd.ttf has no PostScript name in its table of names (ID 6), so Typst");
      expect(exitCode).toBe(0);
      pages.push(await readFile(join(folder, "a.png")));
    }
    expect(pages[0]?.equals(pages[1] ?? Buffer.alloc(0))).toBe(true);
  });

  it("are silent if the service or the project has all of it", async () => {
    const families = `"${LIBERATION_FAMILY}", "${LIBERATION_FAMILY.toUpperCase()}"`;
    const files = {
      "a.typ": `#set text(font: (${families}))\nΩ “quoted” é`,
      "fonts/own.ttf": await liberation("Regular"),
      "fonts/other.woff2": "wOF2",
    };
    expect((await inProject(files, ["render", "a.typ", "--strict"])).stderr).toMatch(/^a\.pdf: [0-9.]+ KiB\n$/);
    expect((await inProject(files, ["check", "a.typ", "--strict"])).stderr).toBe("a.typ compiles.\n");
  });
});

describe("render", () => {
  it("and check leave out a font of their own choice that is over the limit, and send it if --files names it", async () => {
    const large = await own("Large", { junk: Buffer.alloc(1024 ** 2) });
    const files = { "a.typ": '#let name = "Large"\n#set text(font: "Lar" + "ge")\nx', "fonts/large.ttf": large };
    const why =
      /note: fonts\/large\.ttf \(1\.\d MiB\) is not sent, because a file of a request may have at most 1\.0 MiB: make a subset of the font, ask the operator to install it, or list it in \.renderignore\.\n/;
    for (const command of ["render", "check"]) {
      const left = await inProject(files, [command, "a.typ"]);
      expect(left.stderr).toMatch(why);
      expect(left.exitCode).toBe(0);
      const named = await inProject(files, [command, "a.typ", "--files", "fonts"]);
      expect(named.stderr).toContain("template_file_too_large");
      expect(named.exitCode).toBe(4);
    }
  });

  it("with --strict sends nothing, leaves no file and ends with 4", async () => {
    const { folder, stderr, exitCode } = await inProject(LACKING, ["render", "a.typ", "--strict"]);
    expect(stderr).toBe(`${FAMILY_WARNING}\nNothing was sent, because of --strict.\n`);
    expect(exitCode).toBe(4);
    expect((await readdir(folder)).filter((name) => !name.startsWith("."))).toEqual(["a.typ"]);
  });

  it("has its warnings in its JSON", async () => {
    const { stdout } = await inProject(LACKING, ["render", "a.typ", "--json"]);
    const boxes = expect.stringContaining("2 characters of the document are empty boxes");
    expect(JSON.parse(stdout).warnings).toEqual([FAMILY_WARNING, boxes]);
  });

  it("of --each warns before anything is sent", async () => {
    const files = { "a.typ": `${LACKING["a.typ"]} #data.name`, "people.jsonl": '{"name": "Ada"}\n' };
    const args = ["render", "a.typ", "--each", "people.jsonl", "-o", "out/{#}.pdf"];
    const { folder, stderr, exitCode } = await inProject(files, [...args, "--strict"]);
    expect(stderr).toContain(FAMILY_WARNING);
    expect(exitCode).toBe(4);
    await expect(access(join(folder, "out"))).rejects.toThrow();
    const lenient = await inProject(files, args);
    expect(lenient.stderr).toContain(`warning: ${FAMILY_WARNING}`);
    expect(lenient.exitCode).toBe(0);
  });

  it("compares no families if the service does not say what it has, and not at all with --strict", async () => {
    const silent = await startSaying({ status: 404 });
    const env = { SERVICE_URL: silent };
    const { stderr } = await inProject({ "a.typ": '#set text(font: "Libertine")\nx' }, ["render", "a.typ"], { env });
    expect(stderr).toMatch(/^a\.pdf: /);
    const strict = await inProject(LACKING, ["render", "a.typ", "--strict"], { env });
    expect(strict.stderr).toContain("does not say which fonts it has, so --strict cannot compare them");
    expect(strict.exitCode).toBe(7);
  });

  it("reads no more of an answer than the largest valid document has", async () => {
    const body = JSON.stringify(capabilitiesOf("0.15.1", [], []));
    for (const [size, isRead] of [
      [MAX_CAPABILITIES_BYTES, true],
      [MAX_CAPABILITIES_BYTES + 1, false],
    ] as const) {
      const large = await startSaying({ body: Buffer.from(body.padEnd(size)) });
      const { stderr } = await inProject(LACKING, ["render", "a.typ"], { env: { SERVICE_URL: large } });
      expect(stderr.includes(FAMILY_WARNING)).toBe(isRead);
    }
  });

  it("only revalidates by entity tag what a service has answered before", async () => {
    const answers: PassingAnswer[] = [];
    const { url } = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path === CAPABILITIES_PATH) answers.push(answer);
    });
    const env = { SERVICE_URL: url.origin };
    const { folder } = await inProject(LACKING, ["render", "a.typ"], { env });
    const again = await runCommand(folder, ["render", "a.typ"], { env });
    expect(again.stderr).toContain(FAMILY_WARNING);
    expect(answers.map(({ status }) => status)).toEqual([200, 304]);
  });
});

describe("an SVG image", () => {
  const SOURCE = { "a.typ": '#image("a.svg")#data', "d.jsonl": "1\n" };
  const family = svg('<text y="28" font-family="Nope, sans-serif">x</text>');

  it("is named by --each and the dry run, too", async () => {
    const each = ["render", "a.typ", "--each", "d.jsonl", "-o", "{#}.pdf"];
    const files = { ...SOURCE, "a.svg": family };
    expect(await inProject(files, each)).toMatchObject({
      stderr: expect.stringContaining("warning: a.svg"),
      exitCode: 0,
    });
    for (const args of [each, ["render", "a.typ", "--dry-run"]]) {
      const { stderr, exitCode } = await inProject(files, [...args, "--strict"]);
      expect(stderr).toContain('a.svg has text in "Nope"');
      expect(exitCode).toBe(4);
    }
  });

  it("brings the font of the project that it names", async () => {
    const font = withTables(await liberation("Regular"), { name: nameTable("Nope") });
    const files = { ...SOURCE, "a.svg": family, "assets/own.ttf": font };
    for (const command of ["render", "check"]) {
      const { stderr, exitCode } = await inProject(files, [command, "a.typ", "--strict"]);
      expect(stderr).not.toContain("Nope");
      expect(exitCode).toBe(0);
    }
  });
});

describe("check", () => {
  it("notes what the service has and this machine lacks, and --strict does not count that", async () => {
    const files = { "a.typ": '#set text(font: "Of The Service")\nx' };
    const { stderr, exitCode } = await inProject(files, ["check", "a.typ", "--strict"]);
    expect(stderr).toContain(
      `note: The service has the font family "of the service", but this machine does not: name a folder with --font-path.
`,
    );
    expect(exitCode).toBe(0);
    const here = await inProject(files, ["check", "a.typ", "--strict", "--font-path", fonts]);
    expect(here.stderr).toBe("a.typ compiles.\n");
    expect((await inProject(files, ["render", "a.typ", "--strict"])).exitCode).toBe(0);
  });

  it("distinguishes a package that only this machine lacks from one that the service lacks too", async () => {
    const there = await inProject({ "a.typ": '#import "@local/chart:1.0.0": chart\n#chart' }, ["check", "a.typ"]);
    expect(there.stderr).toContain(
      "note: The service has @local/chart:1.0.0, but this machine does not: name a folder with --package-path.",
    );
    expect(there.exitCode).toBe(4);
    const nowhere = await inProject({ "a.typ": '#import "@local/chart:2.0.0"' }, ["check", "a.typ"]);
    expect(nowhere.stderr).toContain(
      "note: Neither the service nor this machine has @local/chart:2.0.0, which a.typ:1 imports. Copy its folder to ",
    );
  });

  it("only notes a script for which the service has a font, whatever this machine has", async () => {
    const body = Buffer.from(JSON.stringify(capabilitiesOf("0.15.1", [], [], ["Deva", "Hani"])));
    const env = { SERVICE_URL: await startSaying({ body }) };
    const { stderr, exitCode } = await inProject({ "a.typ": "नमस्ते 山" }, ["check", "a.typ", "--strict"], { env });
    expect(stderr).toContain("note: The service has fonts for Devanagari, but this machine does not: name a folder");
    expect(stderr).toContain("note: The service has fonts for Han, but this machine does not: name a folder");
    expect(exitCode).toBe(0);
    const partly = await inProject({ "a.typ": "山あ" }, ["check", "a.typ", "--strict"], { env });
    expect(partly.exitCode).toBe(4);
  });

  it("reports all characters that a standard refuses in one error", async () => {
    const characters = Array.from({ length: 400 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    const source = characters.map((character) => `${character} x`).join("\n\n");
    const args = ["check", "a.typ", "--standards", "a-2u"];
    const { stderr, exitCode } = await inProject({ "a.typ": source }, args);
    expect(stderr).toContain("error: PDF/A-2u error: no font has 一 (U+4E00), 丁 (U+4E01), 丂");
    expect(stderr).toContain(" and 390 more, in 400 texts; the first\n");
    expect(stderr).toContain("a.typ:1:0");
    expect(stderr.split("\n").length).toBeLessThan(15);
    expect(exitCode).toBe(4);
    const { diagnostics } = JSON.parse((await inProject({ "a.typ": source }, [...args, "--json"])).stdout);
    expect(diagnostics).toEqual([
      expect.objectContaining({ severity: "error", file: "a.typ", line: 1, hints: [FONT_REMEDY] }),
    ]);
  });

  it("uses the fonts and packages of the checkout that it runs in", async () => {
    const files = { "vendor/fonts/fonts-lock.json": "{}", "vendor/packages/packages-lock.json": "{}" };
    const source = `#set text(font: "${LIBERATION_FAMILY}")\n#import "@local/chart:1.0.0": chart\n#chart`;
    const folder = await makeProject({ ...files, "letters/a.typ": source });
    await cp(packages, join(folder, "vendor/packages"), { recursive: true });
    await writeFile(join(folder, "vendor/fonts/regular.ttf"), await liberation("Regular"));
    const env = { SERVICE_URL: UNREACHABLE_URL, SERVICE_FONT_PATHS: undefined, SERVICE_PACKAGE_PATH: undefined };
    const { stderr } = await runCommand(join(folder, "letters"), ["check", "a.typ"], { env });
    expect(stderr).toBe("a.typ compiles.\n");
    const named = ["check", "a.typ", "--package-path", packages, "--font-path", join(packages, "local")];
    expect((await runCommand(join(folder, "letters"), named, { env })).stderr).toContain("unknown font family");
  });
});

const unseen = (family: string) => `The service has no font family "${family}", and the request brings none`;
const NOT_KNOWN = "Which fonts the document asks for is not known";

const ICON = '#import "@local/icon:1.0.0": phone\n#phone 0123';
const COMPUTED = '#let f = "Comp" + "uted"\n#set text(font: f)\nx';

describe("--strict names a family that no template shows", () => {
  it.each([
    ["of a package, in a PDF", ICON, "a.pdf", "font awesome 7 free"],
    ["of a package, in a PNG", ICON, "a.png", "font awesome 7 free"],
    ["of a package, in an SVG", ICON, "a.svg", "font awesome 7 free"],
    ["of a package, in an archive", ICON, "a.zip", "font awesome 7 free"],
    ["that is computed", COMPUTED, "a.pdf", "computed"],
    ["of data", "#set text(font: data.font)\nx", "a.pdf", "of the data"],
    ["of spread arguments", '#set text(..(("fo" + "nt"): "Spread"))\nx', "a.pdf", "spread"],
    ["of code in a string", '#eval("[#set text(font: \\"Evaluated\\"); x]")', "a.pdf", "evaluated"],
    ["of a header", '#set page(header: text(font: "Head" + "er")[x])\nx', "a.pdf", "header"],
    ["of formulas", '#show math.equation: set text(font: "Eq" + "uation")\n$ x $', "a.pdf", "equation"],
  ])("%s", async (_, source, output, family) => {
    const files = { "a.typ": `${source}\n#let _ = data`, "d.json": '{"font": "Of the Data"}' };
    const format = output.endsWith("zip") ? ["--format", "png"] : [];
    const args = ["render", "a.typ", "-o", output, "-d", "d.json", ...format];
    const { folder, stderr, exitCode } = await inProject(files, [...args, "--strict"]);
    expect(stderr).toContain(unseen(family));
    expect(stderr).toContain("Nothing was written, because of --strict.");
    expect(exitCode).toBe(4);
    expect(await readdir(folder)).not.toContain(output);
    expect((await inProject(files, args)).exitCode).toBe(0);
  });

  it("and passes a document whose families are there, in the service or in the request", async () => {
    const font = withTables(await liberation("Regular"), { name: nameTable("Of The Project") });
    const files = {
      "a.typ": `#import "@local/plain:1.0.0": plain\n#set text(font: "Of The " + "Project")\n#plain[x] \`code\`\n$ x $`,
      "fonts/own.ttf": font,
    };
    for (const output of ["a.pdf", "a.png"]) {
      const { stderr, exitCode } = await inProject(files, ["render", "a.typ", "-o", output, "--strict"]);
      expect(stderr).toMatch(/^a\.(?:pdf|png): [0-9.]+ KiB\n$/);
      expect(exitCode).toBe(0);
    }
  });

  it("and does not pass a document of which nothing can be known", async () => {
    const { stderr, exitCode } = await inProject({ "a.typ": `${ICON}\n/* open` }, ["render", "a.typ", "--strict"]);
    expect(stderr).toContain(NOT_KNOWN);
    expect(exitCode).toBe(4);
  });

  it("and leaves the error of a template to the render", async () => {
    const { stderr, exitCode } = await inProject({ "a.typ": `${ICON}\n#panic()` }, ["render", "a.typ", "--strict"]);
    expect(stderr).toContain("template_compile_failed");
    expect(exitCode).toBe(4);
  });

  it("in each document of --each", async () => {
    const files = {
      "a.typ": "#set text(font: data.font)\nx",
      "d.jsonl": '{"font": "Libertinus Serif"}\n{"font": "No"}\n',
    };
    const args = ["render", "a.typ", "--each", "d.jsonl", "-o", "out/{#}.pdf", "--strict"];
    const { folder, stderr, exitCode } = await inProject(files, args);
    expect(stderr).toContain(`line 2, out/2.pdf: ${unseen("no")}`);
    expect(exitCode).toBe(8);
    expect(await readdir(join(folder, "out"))).toEqual(["1.pdf"]);
  });
});

describe("without --strict", () => {
  it("a note says that families of packages are not known, where Typst's own font may stand for one", async () => {
    for (const output of ["a.pdf", "a.svg"]) {
      const { stderr, exitCode } = await inProject({ "a.typ": ICON }, ["render", "a.typ", "-o", output]);
      expect(stderr).toContain(`note: ${NOT_KNOWN}`);
      expect(exitCode).toBe(0);
    }
    const named = `#set text(font: "DejaVu Sans Mono")\n#import "@local/plain:1.0.0": plain\n#plain[x]`;
    expect((await inProject({ "a.typ": named }, ["render", "a.typ"])).stderr).toMatch(/^a\.pdf: /);
    expect((await inProject({ "a.typ": "x" }, ["render", "a.typ", "-o", "a.svg"])).stderr).toMatch(/^a\.svg: /);
  });

  it("--each says once what several documents lack, and of how many", async () => {
    const files = { "a.typ": "#data", "d.jsonl": '"山"\n"x"\n"हिन्दी"\n"हिन्दी"\n' };
    const { stderr, exitCode } = await inProject(files, ["render", "a.typ", "--each", "d.jsonl", "-o", "{#}.pdf"]);
    expect(stderr).toMatch(
      /^warning: In 1 document: One character of the document is an empty box, .* needs its own font\.$/m,
    );
    expect(stderr).toContain("warning: In 2 documents: No font for text has the letters of Devanagari, so");
    expect(stderr).toContain("4 of 4 documents rendered.");
    expect(exitCode).toBe(0);
  });
});

describe("characters without a font", () => {
  it("are warned of before an image is rendered, if its texts or its data have them", async () => {
    const uncovered = "warning: The templates or their data have text in Han, for which the service has no font";
    const args = ["render", "a.typ", "-o", "a.svg", "-d", "d.json"];
    expect((await inProject({ "a.typ": "#data", "d.json": '"\\u5c71"' }, args)).stderr).toContain(uncovered);
    expect((await inProject({ "a.typ": "#data // 山", "d.json": '"é"' }, args)).stderr).toMatch(/^a\.svg: /);
    const each = ["render", "a.typ", "--each", "d.jsonl", "-o", "{#}.png"];
    expect((await inProject({ "a.typ": "#data", "d.jsonl": '"x"\n"山"\n' }, each)).stderr).toContain(uncovered);
  });

  it("are those of the page that is asked for", async () => {
    const files = { "a.typ": "x\n#pagebreak()\n山" };
    const page = (number: string) => ["render", "a.typ", "-o", "a.png", "--page", number, "--strict"];
    expect((await inProject(files, page("1"))).exitCode).toBe(0);
    expect((await inProject(files, page("2"))).exitCode).toBe(4);
  });
});

/** The service with an answer of its own for its capabilities. */
async function startSaying(change: Partial<PassingAnswer>): Promise<string> {
  const { url } = await startTamperingProxy(service.edge.url, (answer) => {
    if (answer.path === CAPABILITIES_PATH) Object.assign(answer, change);
  });
  return url.origin;
}
