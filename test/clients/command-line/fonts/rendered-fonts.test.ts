/** What `render` reads of the fonts in the answer, and what it asks for with `--strict`, by the real service and Typst. */
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runnerInProjects } from "../../../support/clients/command-line.ts";
import { packageManifest } from "../../../support/clients/package-registry.ts";
import { liberation, nameTable, withTables } from "../../../support/fonts.ts";
import { startTestService } from "../../../support/service/test-service.ts";

let url: string;

/** Of the operator: callers do not see them. */
const PACKAGES = {
  icon: '#let phone = text(font: "Font Awesome 7 Free", "\\u{41}")',
  plain: "#let plain(body) = emph(body)",
};

beforeAll(async () => {
  const packages = await realpath(await mkdtemp(join(tmpdir(), "rendered-fonts-test-")));
  for (const [name, source] of Object.entries(PACKAGES)) {
    const folder = join(packages, "local", name, "1.0.0");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "typst.toml"), packageManifest(`@local/${name}:1.0.0`));
    await writeFile(join(folder, "lib.typ"), source);
  }
  const service = await startTestService({ backendSettings: { SERVICE_PACKAGE_PATH: packages } });
  url = service.edge.url.origin;
  return async () => {
    await service.stop();
    await rm(packages, { recursive: true });
  };
});

const inProject = runnerInProjects(() => url);
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
    expect(stderr).toContain("warning: In 1 document: One character of the document is an empty box, because");
    expect(stderr).toContain("warning: In 2 documents: No font for text has the letters of Devanagari, so");
    expect(stderr).toContain("4 of 4 documents rendered.");
    expect(exitCode).toBe(0);
  });
});

describe("characters without a font, and scripts in a font for formulas or code", () => {
  it.each([
    ["山田", "2 characters of the document are empty boxes, among them 田 (U+7530), because no font has them."],
    ["नमस्ते", "No font for text has the letters of Devanagari, so Typst sets them in New Computer Modern Math"],
    ["سلام", "No font for text has the letters of Arabic, so Typst sets them in DejaVu Sans Mono"],
  ])("are warned of, and refused with --strict: %s", async (source, expected) => {
    const lenient = await inProject({ "a.typ": source }, ["render", "a.typ", "--json"]);
    expect(JSON.parse(lenient.stdout).warnings).toEqual([expect.stringContaining(expected)]);
    for (const output of ["a.pdf", "a.png"]) {
      const { folder, stderr, exitCode } = await inProject({ "a.typ": source }, [
        "render",
        "a.typ",
        "-o",
        output,
        "--strict",
      ]);
      expect(stderr).toContain(expected);
      expect(exitCode).toBe(4);
      expect(await readdir(folder)).not.toContain(output);
    }
  });

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
