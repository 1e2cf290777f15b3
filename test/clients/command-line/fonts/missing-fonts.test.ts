/**
 * Fonts and characters that are missing, as `render` and `check` report them, with the real service and the real Typst.
 */
import { access, cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FONT_REMEDY } from "../../../../clients/document/fonts/font-findings.ts";
import { CAPABILITIES_PATH, capabilitiesOf, MAX_CAPABILITIES_BYTES } from "../../../../protocol/capabilities.ts";
import { makeProject, runCommand, runnerInProjects } from "../../../support/clients/command-line.ts";
import { packageManifest } from "../../../support/clients/package-registry.ts";
import {
  doubledFont,
  LIBERATION_FAMILY,
  LIBERATION_FOLDER,
  liberation,
  nameTable,
  withTables,
} from "../../../support/fonts.ts";
import { closeServer, listenOnLoopback } from "../../../support/loopback-server.ts";
import { startTestService, type TestService } from "../../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../../support/tokens.ts";

const BOXES = `Typst shows empty boxes instead. ${FONT_REMEDY}`;

let service: TestService;
let url: string;
let packages: string;
let fonts: string;

beforeAll(async () => {
  packages = await realpath(await mkdtemp(join(tmpdir(), "missing-fonts-test-")));
  await mkdir(join(packages, "local/chart/1.0.0"), { recursive: true });
  await writeFile(join(packages, "local/chart/1.0.0/typst.toml"), packageManifest("@local/chart:1.0.0"));
  await writeFile(join(packages, "local/chart/1.0.0/lib.typ"), "#let chart = [chart]");
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

describe("render", () => {
  it("and check note a bold font that the text needs and the project does not bring, --strict or not", async () => {
    const font = withTables(await liberation("Regular"), { name: nameTable("Of The Project") });
    const files = { "a.typ": '#set text(font: "Of The Project")\n= Title', "fonts/own.ttf": font };
    for (const command of ["render", "check"]) {
      const { stderr, exitCode } = await inProject(files, [command, "a.typ", "--strict"]);
      expect(stderr).toContain('note: The request brings no bold font of the family "Of The Project": headings');
      expect(exitCode).toBe(0);
    }
  });

  const both = async (files: Readonly<Record<string, string | Buffer>>, ...more: readonly string[]) =>
    Promise.all(["render", "check"].map((command) => inProject(files, [command, "a.typ", ...more])));
  const own = async (family: string, more: Readonly<Record<string, Buffer>> = {}) =>
    withTables(await liberation("Regular"), { name: nameTable(family), ...more });

  it("and check name the fonts for web pages if a family is missing, and how to convert them", async () => {
    const files = { "fonts/brand.woff2": "wOF2", "web/brand.WOFF": "wOFF" };
    for (const { stderr, exitCode } of await both({ "a.typ": '#set text(font: "Brand")\nx', ...files }, "--strict")) {
      expect(stderr).toMatch(/font family "brand"/i);
      expect(stderr).toContain(
        "fonts/brand.woff2 is WOFF2, which Typst does not read. Convert it to TTF or OTF: fonttools ttLib fonts/brand.woff2 -o fonts/brand.ttf\n",
      );
      expect(stderr).toContain("web/brand.WOFF is WOFF, which");
      expect(exitCode).toBe(4);
    }
    for (const { stderr } of await both({ "a.typ": '#set text(font: "Libertinus Serif")\nx', ...files })) {
      expect(stderr).not.toContain("WOFF");
    }
  });

  it("and check say why a font is not there, though it names the family", async () => {
    const font = await own("Odd", { name: nameTable("Odd", { 6: null }) });
    for (const { stderr, exitCode } of await both(
      { "a.typ": '#set text(font: "Odd")\nx', "lib/odd.ttf": font },
      "--strict",
    )) {
      expect(stderr).toMatch(/font family "odd"/i);
      expect(stderr).toContain(
        "note: lib/odd.ttf has no PostScript name in its table of names (ID 6), so Typst never sees it",
      );
      expect(exitCode).toBe(4);
    }
  });

  it("and check note fonts that Typst cannot tell apart, and draw the same one", async () => {
    const files = {
      "a.typ": '#set page(width: auto, height: auto, margin: 0pt)\n#set text(font: "Own")\nWide or narrow',
      "fonts/Own-Regular.ttf": await own("Own"),
      "fonts/OwnCondensed-Regular.ttf": withTables(await doubledFont("x"), { name: nameTable("Own Condensed") }),
    };
    const runs = await both(files, "--strict", "-o", "a.png");
    for (const { stderr, exitCode } of runs) {
      expect(stderr).toContain("note: fonts/Own-Regular.ttf and fonts/OwnCondensed-Regular.ttf are the same to Typst");
      expect(exitCode).toBe(0);
    }
    const pages = await Promise.all(runs.map(({ folder }) => readFile(join(folder, "a.png"))));
    expect(pages[0]?.equals(pages[1] ?? Buffer.alloc(0))).toBe(true);
  });

  it("and check name icons that a font of Typst draws otherwise", async () => {
    const icon = '#text("\\u{f133}") 5 March';
    for (const { stderr } of await both({ "a.typ": icon })) {
      expect(stderr).toMatch(
        /warning: No icon font has .* \(U\+F133\), so Typst draws other signs of New Computer Modern/,
      );
    }
    for (const { exitCode } of await both({ "a.typ": icon }, "--strict")) expect(exitCode).toBe(4);
  });

  it("and check leave out a font of their own choice that is over the limit, and send it if --files names it", async () => {
    const large = await own("Large", { junk: Buffer.alloc(1024 ** 2) });
    const files = { "a.typ": '#let name = "Large"\n#set text(font: "Lar" + "ge")\nx', "fonts/large.ttf": large };
    const why =
      /note: fonts\/large\.ttf \(1\.\d MiB\) is not sent, because a file of a request may have at most 1\.0 MiB: make a subset of the font, ask the operator to install it, or list it in \.renderignore\.\n/;
    for (const { stderr, exitCode } of await both(files)) {
      expect(stderr).toMatch(why);
      expect(exitCode).toBe(0);
    }
    for (const { stderr, exitCode } of await both(files, "--files", "fonts")) {
      expect(stderr).toContain("template_file_too_large");
      expect(exitCode).toBe(4);
    }
  });

  it("and check ask for the family that was meant: of the project, which is not sent, of the request and of the service", async () => {
    const halden = withTables(await liberation("Regular"), { name: nameTable("Halden Text") });
    const files = { "a.typ": '#set text(font: ("Haldn Text", "Halden", "Of The Servce"))\nx', "fonts/own.ttf": halden };
    for (const command of ["render", "check"]) {
      const { stderr } = await inProject(files, [command, "a.typ"]);
      expect(stderr).toMatch(/"haldn text".* Did you mean Halden Text\?\n/i);
      expect(stderr).toMatch(/"halden".* Did you mean Halden Text\?\n/i);
      expect(stderr).toMatch(/"of the servce".* Did you mean Of The Service\?\n/i);
    }
  });

  it("writes the document, and warns of what neither the service nor the project has", async () => {
    const { folder, stderr, exitCode } = await inProject(LACKING, ["render", "a.typ"]);
    expect(stderr).toContain(`warning: ${FAMILY_WARNING}\n`);
    expect(exitCode).toBe(0);
    await access(join(folder, "a.pdf"));
  });

  it("with --strict sends nothing, leaves no file and ends with 4", async () => {
    const { folder, stderr, exitCode } = await inProject(LACKING, ["render", "a.typ", "--strict"]);
    expect(stderr).toBe(`${FAMILY_WARNING}\nNothing was sent, because of --strict.\n`);
    expect(exitCode).toBe(4);
    expect((await readdir(folder)).filter((name) => !name.startsWith("."))).toEqual(["a.typ"]);
  });

  it("is silent if the service or the project has all of it", async () => {
    const families = `"${LIBERATION_FAMILY}", "${LIBERATION_FAMILY.toUpperCase()}"`;
    const source = `#set text(font: (${families}))\nΩ “quoted” é`;
    const files = { "a.typ": source, "fonts/own.ttf": await liberation("Regular") };
    const { stderr, exitCode } = await inProject(files, ["render", "a.typ", "--strict"]);
    expect(stderr).toMatch(/^a\.pdf: [0-9.]+ KiB\n$/);
    expect(exitCode).toBe(0);
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
    const silent = await startSaying((response) => response.writeHead(404).end());
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
      const large = await startSaying((response) => response.end(body.padEnd(size)));
      const { stderr } = await inProject(LACKING, ["render", "a.typ"], { env: { SERVICE_URL: large } });
      expect(stderr.includes(FAMILY_WARNING)).toBe(isRead);
    }
  });

  it("only revalidates by entity tag what a service has answered before", async () => {
    const asked: (string | undefined)[] = [];
    const origin = await startSaying((response, etag) => {
      asked.push(etag);
      if (etag === '"one"') return response.writeHead(304).end();
      return response.writeHead(200, { ETag: '"one"' }).end(JSON.stringify(capabilitiesOf("0.15.1", [], [])));
    });
    const { folder } = await inProject(LACKING, ["render", "a.typ"], { env: { SERVICE_URL: origin } });
    const again = await runCommand(folder, ["render", "a.typ"], { env: { SERVICE_URL: origin } });
    expect(again.stderr).toContain(FAMILY_WARNING);
    expect(asked).toEqual([undefined, '"one"']);
  });
});

describe("an SVG image", () => {
  const svg = (content: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 40">${content}</svg>`;
  const SOURCE = { "a.typ": '#image("a.svg")', "each.typ": '#image("a.svg")#data.name' };
  const family = svg('<text y="28" font-family="Nope, sans-serif">x</text>');
  const foreign = svg(
    '<foreignObject width="9" height="9"><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>',
  );

  it.each([
    [family, 'a.svg has text in "Nope", which neither the service nor the request has: Typst uses another font.'],
    [foreign, "a.svg: Typst does not draw the text in foreignObject. Export it as PDF or PNG, or with plain text: "],
  ])(
    "gets a warning of render, its dry run, --each and check, which --strict refuses: %s",
    async (content, warning) => {
      const files = { ...SOURCE, "a.svg": content, "people.jsonl": '{"name": "Ada"}\n' };
      const each = ["render", "each.typ", "--each", "people.jsonl", "-o", "{#}.pdf", "--overwrite"];
      for (const args of [["render", "a.typ"], each, ["check", "a.typ"]]) {
        const { stderr, exitCode } = await inProject(files, args);
        expect(stderr).toContain(`warning: ${warning}`);
        expect(exitCode).toBe(0);
        const strict = await inProject(files, [...args, "--strict"]);
        expect(strict.stderr).toContain(warning);
        expect(strict.exitCode).toBe(4);
      }
      const strict = await inProject(files, ["render", "a.typ", "--dry-run", "--strict"]);
      expect(strict.stderr).toContain(warning);
      expect(strict.exitCode).toBe(4);
    },
  );

  it("brings the font of the project that it names", async () => {
    const font = withTables(await liberation("Regular"), { name: nameTable("Nope") });
    const files = { ...SOURCE, "a.svg": family, "assets/own.ttf": font };
    for (const command of ["render", "check"]) {
      const { stderr, exitCode } = await inProject(files, [command, "a.typ", "--strict"]);
      expect(stderr).not.toContain("Nope");
      expect(exitCode).toBe(0);
    }
  });

  it("is compared with this machine while the service cannot be reached", async () => {
    const env = { SERVICE_URL: UNREACHABLE_URL };
    const { stderr, exitCode } = await inProject({ ...SOURCE, "a.svg": family }, ["check", "a.typ", "--strict"], {
      env,
    });
    expect(stderr).toContain('error: a.svg has text in "Nope", which neither this machine nor the request has');
    expect(exitCode).toBe(4);
  });
});

describe("check", () => {
  it("warns of characters that no font has, with the line of the first one", async () => {
    const files = { "a.typ": "= Title\n\n#data.name #emoji.rocket" };
    const args = ["check", "a.typ", "--data", "d.json"];
    const { stderr, exitCode } = await inProject({ ...files, "d.json": '{"name": "\\u5c71"}' }, args);
    expect(stderr).toBe(
      `warning: No font of this machine has 山 (U+5C71), 🚀 (U+1F680), first in a.typ:3: ${BOXES}\na.typ compiles, with warnings.\n`,
    );
    expect(exitCode).toBe(0);
    const strict = await inProject({ "a.typ": "é “x” 山" }, ["check", "a.typ", "--strict"]);
    expect(strict.stderr).toContain(`error: No font of this machine has 山 (U+5C71), first in a.typ:1: ${BOXES}`);
    expect(strict.exitCode).toBe(4);
  });

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

  it.each([
    ["नमस्ते", "Devanagari", "New Computer Modern Math"],
    ["سلام", "Arabic", "DejaVu Sans Mono"],
  ])(
    "warns of %s, which the font does not join, and fails with --strict, whatever the format",
    async (text, script, font) => {
      const warning = `No font for text has the letters of ${script}, so Typst sets them in ${font}`;
      for (const format of ["pdf", "png"]) {
        const args = ["check", "a.typ", "--format", format];
        const lenient = await inProject({ "a.typ": text }, args);
        expect(lenient.stderr).toContain(`warning: ${warning}`);
        expect(lenient.exitCode).toBe(0);
        const strict = await inProject({ "a.typ": text }, [...args, "--strict"]);
        expect(strict.stderr).toContain(`error: ${warning}`);
        expect(strict.exitCode).toBe(4);
      }
    },
  );

  it("only notes a script for which the service has a font, whatever this machine has", async () => {
    const document = JSON.stringify(capabilitiesOf("0.15.1", [], [], ["Deva", "Hani"]));
    const env = { SERVICE_URL: await startSaying((response) => response.end(document)) };
    const { stderr, exitCode } = await inProject({ "a.typ": "नमस्ते 山" }, ["check", "a.typ", "--strict"], { env });
    expect(stderr).toContain("note: The service has fonts for Devanagari, but this machine does not: name a folder");
    expect(stderr).toContain("note: The service has fonts for Han, but this machine does not: name a folder");
    expect(exitCode).toBe(0);
    const partly = await inProject({ "a.typ": "山あ" }, ["check", "a.typ", "--strict"], { env });
    expect(partly.exitCode).toBe(4);
  });

  it("sees the characters of text in an SVG", async () => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 40"><text y="28" font-size="24">山田</text></svg>';
    const { stderr, exitCode } = await inProject({ "a.typ": '#image("a.svg")', "a.svg": svg }, [
      "check",
      "a.typ",
      "--strict",
    ]);
    expect(stderr).toContain(`error: No font of this machine has 山 (U+5C71), 田 (U+7530): ${BOXES}`);
    expect(exitCode).toBe(4);
  });

  it("takes characters for private use for icons, which only their own font has", async () => {
    const args = ["check", "a.typ", "--strict"];
    const { stderr } = await inProject({ "a.typ": "\u{f09b}" }, args);
    expect(stderr).toMatch(/U\+F09B\).* are icons of one font, such as Font Awesome/);
    expect(stderr).not.toContain("noto");
    const rendered = await inProject({ "a.typ": "\u{f09b}" }, ["render", "a.typ"]);
    expect(rendered.stderr).toContain("An icon, as of Font Awesome, needs its own font.");
    expect((await inProject({ "a.typ": "\u{f09b} 山" }, args)).stderr).toContain(FONT_REMEDY);
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

  it("names the documents of --each that lack a character, which fail with --strict", async () => {
    const files = { "a.typ": "#data.name", "people.jsonl": '{"name": "Ada"}\n{"name": "山"}\n' };
    const args = ["check", "a.typ", "--each", "people.jsonl"];
    const lenient = await inProject(files, args);
    expect(lenient.stderr).toContain(
      `line 2:\nwarning: No font of this machine has 山 (U+5C71), first in a.typ:1: ${BOXES}`,
    );
    expect(lenient.stderr).toContain("2 of 2 documents compile.");
    expect(lenient.exitCode).toBe(0);
    const strict = await inProject(files, [...args, "--strict"]);
    expect(strict.stderr).toContain(`error: No font of this machine has 山 (U+5C71), first in a.typ:1: ${BOXES}`);
    expect(strict.exitCode).toBe(4);
  });

  it("judges by this machine alone while the service cannot be reached", async () => {
    const { stderr, exitCode } = await inProject(LACKING, ["check", "a.typ"], {
      env: { SERVICE_URL: UNREACHABLE_URL },
    });
    expect(stderr).toContain('warning: This machine has no font family "libertine": Typst uses another font.');
    expect(stderr).toContain("warning: No font of this machine has 山 (U+5C71), 田 (U+7530), first in a.typ:2:");
    expect(exitCode).toBe(0);
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

type Answer = (response: ServerResponse, etag: string | undefined) => unknown;

/** The service with an answer of its own for its capabilities. */
async function startSaying(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === CAPABILITIES_PATH) {
      answer(response, request.headers["if-none-match"]);
      return;
    }
    void passOn(request, response);
  });
  const { origin } = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  return origin;
}

async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "GET", url: path = "/" } = request;
  const body = method === "GET" ? {} : { body: new Uint8Array(Buffer.concat(await request.toArray())) };
  const answered = await service.send(path, { method, headers: { "Content-Type": "application/json" }, ...body });
  response.writeHead(answered.status, { "Content-Type": answered.headers.get("Content-Type") ?? "" });
  response.end(Buffer.from(await answered.arrayBuffer()));
}
