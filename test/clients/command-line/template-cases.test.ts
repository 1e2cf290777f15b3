/** `test` with the real Typst: what changes in the pages of a template is seen, and shown. */
import { cpSync } from "node:fs";
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, it } from "vitest";
import { exampleNames } from "../../../scripts/examples/example-request.ts";
import { runCommand, writeProject } from "../../support/clients/command-line.ts";
import { readXmlElements } from "../../support/readers/xml-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples", import.meta.url));

async function testIn(folder: string, ...args: string[]) {
  const { exitCode, stdout, stderr } = await runCommand(folder, ["test", ...args, "--json"]);
  const lines: { outcome: string; template: string; case: string; failure: string | null }[] = stdout
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  return { exitCode, stderr, cases: lines.filter(({ outcome }) => outcome === "case") };
}

describe("the examples", () => {
  let names: string[];

  beforeAll(async () => {
    names = (await exampleNames()).toSorted();
  });

  it("all have cases, and their pages are as expected", async () => {
    // Their pages were made on another kind of processor than some that run this test.
    const { exitCode, cases } = await testIn(EXAMPLES, ...names, "--tolerance", "0.1");
    expect(cases.map(({ failure }) => failure)).toEqual(cases.map(() => null));
    expect(cases.map(({ template }) => template)).toEqual(names.map((name) => join(name, "main.typ")));
    expect(exitCode).toBe(0);
  });

  /** Copies the examples and changes each Typst file. */
  async function changedExamples(change: (text: string) => string): Promise<string> {
    const folder = await makeTemporaryFolder("changed-");
    cpSync(EXAMPLES, folder, { recursive: true });
    for (const path of await readdir(folder, { recursive: true })) {
      if (!path.endsWith(".typ")) continue;
      const text = await readFile(join(folder, path), "utf8");
      await writeFile(join(folder, path), change(text));
    }
    return folder;
  }

  /** That each of them failed, with a picture of the difference. */
  async function expectAllDiffer(folder: string) {
    const changed = names.slice(0, 2);
    const { exitCode, cases } = await testIn(folder, ...changed, "--report", "report.html");
    expect(cases.map(({ failure }) => failure)).toEqual(
      changed.map(() => expect.stringMatching(/^Page [12] differs in [0-9]+ pixels/)),
    );
    expect(exitCode).toBe(1);
    const html = await readFile(join(folder, "report.html"), "utf8");
    for (const name of changed) expect(html).toContain(`>${name}/main.typ: `);
    for (const picture of ["Before", "After", "Difference"]) {
      expect(
        html
          .split("<h2")
          .slice(1)
          .every((part) => part.includes(`alt="${picture}: page`)),
      ).toBe(true);
    }
  }

  it("show a margin that is one millimetre wider", async () => {
    const wider = (_: string, head: string, millimetres: string) => `${head}${Number(millimetres) + 1}mm`;
    await expectAllDiffer(await changedExamples((text) => text.replaceAll(/(margin: (?:\(x: )?)(\d+)mm/g, wider)));
  });
});

/** What people see on a page and a comparison of colours by a tenth does not. */
const SMALL_CHANGES: readonly (readonly [change: string, before: string, after: string])[] = [
  ["a fill that is lighter by a tenth", "#rect(fill: rgb(60, 90, 150))", "#rect(fill: rgb(86, 116, 176))"],
  ["grey text that becomes lighter", "#text(luma(40))[Total]", "#text(luma(60))[Total]"],
  ["another digit in small grey text", "#text(5pt, gray)[30 days]", "#text(5pt, gray)[80 days]"],
  ["a comma for a point in small grey text", "#text(6pt, luma(180))[1.50]", "#text(6pt, luma(180))[1,50]"],
];

describe("pages", () => {
  const PAGE = "#set page(width: 40mm, height: 20mm, margin: 2mm)\n";

  async function differenceOf(before: string, after: string, ...args: string[]) {
    const folder = await makeTemporaryFolder("pages-");
    await writeProject(folder, { "main.typ": PAGE + before, "cases/a.json": "{}" });
    expect(await testIn(folder, ".", "--update")).toMatchObject({ exitCode: 0 });
    await writeFile(join(folder, "main.typ"), PAGE + after);
    return (await testIn(folder, ".", ...args)).cases[0]?.failure;
  }

  it.each(SMALL_CHANGES)("differ by %s", async (_, before, after) => {
    expect(await differenceOf(before, after)).toMatch(/^Page 1 differs in [0-9]+ pixels/);
  });

  it("may differ as much as --tolerance allows, which the report of a faint difference names", async () => {
    const [, before, after] = ["", "#text(luma(40))[Total]", "#text(luma(44))[Total]"];
    expect(await differenceOf(before, after)).toMatch(
      / % of it\. All are faint: --tolerance 0\.1 is for another kind of processor\.$/,
    );
    expect(await differenceOf(before, after, "--tolerance", "0.1")).toBe(null);
    expect(await differenceOf("a", "b", "--tolerance", "0.1")).toMatch(/^Page 1 differs in [0-9]+ pixels/);
  });

  it.each(["-1", "1.1", "a tenth", ""])("have no tolerance %j", async (value) => {
    const { exitCode, stderr } = await testIn(await makeTemporaryFolder("pages-"), ".", "--tolerance", value);
    expect(stderr).toContain("It must be a number from 0 to 1.");
    expect(exitCode).toBe(2);
  });
});

describe("a template", () => {
  const SOURCE =
    "#set page(width: 20mm, height: 20mm, margin: 2mm)\n#for page in data.pages [#page #pagebreak(weak: true)]";
  const SCHEMA = '{"properties": {"pages": {"items": {"type": "string"}}}, "required": ["pages"]}';

  async function makeTemplate(cases: Readonly<Record<string, readonly unknown[]>>) {
    const folder = await makeTemporaryFolder("template-");
    await writeCases(folder, cases);
    await writeProject(folder, { "main.typ": SOURCE, "data.schema.json": SCHEMA });
    return folder;
  }

  async function writeCases(folder: string, cases: Readonly<Record<string, readonly unknown[]>>) {
    for (const [name, pages] of Object.entries(cases)) {
      await writeProject(folder, { [`cases/${name}.json`]: JSON.stringify({ pages }) });
    }
  }

  it("learns in one run what is wrong with each of its cases", async () => {
    const folder = await makeTemplate({ same: ["a"], other: ["a"], fewer: ["a", "b"], more: ["a"], gone: ["a"] });
    expect(await testIn(folder, ".", "--update")).toMatchObject({ exitCode: 0 });
    await writeCases(folder, { other: ["c"], fewer: ["a"], more: ["a", "b"], fresh: ["a"], wrong: [1], missing: [] });
    await rm(join(folder, "cases/gone.json"));
    await writeFile(join(folder, "main.typ"), `${SOURCE}\n#if data.pages.len() == 0 { panic("no pages") }`);
    const { exitCode, cases } = await testIn(folder, ".", "--junit", "junit.xml", "--report", "report.html");
    const failures = Object.fromEntries(cases.map(({ case: name, failure }) => [name, failure]));
    expect(failures).toEqual({
      fewer: "Page 2 is expected, but the document ends before it.",
      fresh: "It has no expected pages: run the command with --update.",
      gone: "There are expected pages, but no gone.json.",
      missing: expect.stringContaining("error: panicked with: no pages\n  ┌─ main.typ:3:28"),
      more: "Page 2 is not expected.",
      other: expect.stringMatching(/^Page 1 differs in [0-9]+ pixels, [0-9.]+ % of it\.$/),
      same: null,
      wrong: [
        "cases/wrong.json:1:11: pages[0]: must be a string, not the number 1: put it in quotes",
        "Nothing was compiled: cases/wrong.json does not fit data.schema.json.",
      ].join("\n"),
    });
    expect(exitCode).toBe(1);
    const [suites, ...elements] = readXmlElements(await readFile(join(folder, "junit.xml"), "utf8"));
    expect(suites).toMatchObject({ name: "testsuites", attributes: { tests: "8", failures: "7" } });
    expect(elements.filter(({ path }) => path === "testsuites/testsuite/testcase")).toHaveLength(8);
    expect(await readFile(join(folder, "report.html"), "utf8")).toContain("7 of 8 cases failed");
  });

  it("gets expected pages by --update that pass afterwards, and loses those of pages that are gone", async () => {
    const folder = await makeTemplate({ first: ["a", "b"] });
    const run = (...args: string[]) => runCommand(folder, ["test", "main.typ", ...args]);
    expect((await run("--update")).stderr).toBe("ok   main.typ: first: 2 pages written\n1 of 1 cases passed.\n");
    await writeCases(folder, { first: ["a"] });
    await run("--update");
    expect(await readdir(join(folder, "cases/first.expected"))).toEqual(["1.png"]);
    expect((await run()).stderr).toBe("ok   main.typ: first: 1 page as expected\n1 of 1 cases passed.\n");
  });

  it("compares the same pages at the same resolution as the expected ones", async () => {
    const folder = await makeTemplate({ first: ["a", "b", "c"] });
    await testIn(folder, ".", "--update", "--ppi", "40", "--pages", "2-3");
    expect(await testIn(folder, ".")).toMatchObject({ exitCode: 0, cases: [{ pages: 2 }] });
    expect(await testIn(folder, ".", "--pages", "1-3")).toMatchObject({ exitCode: 1, cases: [{ pages: 3 }] });
    await testIn(folder, ".", "--update");
    expect(await testIn(folder, ".")).toMatchObject({ exitCode: 0, cases: [{ pages: 2 }] });
    await writeFile(join(folder, "cases/first.expected/options.json"), '{"ppi": 9}');
    const [{ failure } = {}] = (await testIn(folder, ".")).cases;
    expect(failure).toBe(
      'cases/first.expected/options.json must have "ppi", from 10 to 300, "pages", such as "1-2", or both.',
    );
  });

  it("reports any change of a single pixel, and by --tolerance only one of more than that", async () => {
    const folder = await makeTemplate({ first: ["a"] });
    await testIn(folder, ".", "--update");
    const path = join(folder, "cases/first.expected/1.png");
    const page = PNG.sync.read(await readFile(path));
    const shades: [grey: number, tolerance: string, exitCode: number][] = [
      [254, "0", 1],
      [252, "0.1", 0],
      [160, "0.1", 1],
    ];
    for (const [grey, tolerance, exitCode] of shades) {
      page.data.fill(grey, 0, 3);
      await writeFile(path, PNG.sync.write(page));
      expect(await testIn(folder, ".", "--tolerance", tolerance), `${grey}`).toMatchObject({ exitCode });
    }
  });

  it("refuses an expected page of another size before it is unpacked", async () => {
    const folder = await makeTemplate({ first: ["a"] });
    await testIn(folder, ".", "--update");
    const path = join(folder, "cases/first.expected/1.png");
    const page = await readFile(path);
    const damaged = async (offset: number, bytes: readonly number[]) => {
      const copy = Buffer.from(page);
      copy.set(bytes, offset);
      await writeFile(path, copy);
      return (await testIn(folder, ".")).cases[0]?.failure;
    };
    const notPng = "The expected page 1 is not a PNG as Typst writes it: run the command with --update.";
    // The width and height are 2 ** 31 - 1.
    const large = [0x7f, 0xff, 0xff, 0xff];
    expect(await damaged(16, [...large, ...large])).toMatch(/^Page 1 has 57 × 57 pixels, not 2147483647 × 2147483647:/);
    expect(await damaged(28, [1])).toBe(notPng);
    expect(await damaged(0, [0, 0])).toBe(notPng);
  });

  it("reads cases through links within its folder, and nothing outside of it", async () => {
    const folder = await makeTemplate({ first: ["a"] });
    await writeFile(join(folder, "data.json"), '{"pages": ["b"]}');
    await symlink("../data.json", join(folder, "cases/linked.json"));
    expect(await testIn(folder, ".", "--update")).toMatchObject({ exitCode: 0, cases: [{}, { case: "linked" }] });

    const outside = await makeTemporaryFolder("outside-");
    await writeFile(join(outside, "secret"), "secret");
    const page = join(folder, "cases/first.expected/1.png");
    await rm(page);
    await symlink(join(outside, "secret"), page);
    const read = await testIn(folder, ".", "--report", "report.html");
    expect(read.cases[0]?.failure).toContain("1.png is not sent: a link leads out of the folder");
    expect(await readFile(join(folder, "report.html"), "utf8")).not.toContain(btoa("secret"));

    await rm(join(folder, "cases/first.expected"), { recursive: true });
    await symlink(outside, join(folder, "cases/first.expected"));
    const written = await testIn(folder, ".", "--update");
    expect(written.cases[0]?.failure).toBe("cases/first.expected is a link: nothing is written there.");
    expect(await readdir(outside)).toEqual(["secret"]);
  });

  it("is rendered by a deployment with --url, with the same pages", async () => {
    const service = await sharedService();
    const folder = await makeTemplate({ first: ["a", "b"] });
    await testIn(folder, ".", "--update");
    expect(await testIn(folder, ".", "--url", service.edge.url.origin)).toMatchObject({ exitCode: 0 });
    await writeFile(join(folder, "main.typ"), "#oops");
    const { cases } = await testIn(folder, ".", "--url", service.edge.url.origin);
    expect(cases[0]?.failure).toMatch(/^template_compile_failed/);
  });

  it.each([
    ["nothing", "does not run \\(there is no such file"],
    ["/bin/true", 'says ".*", not "typst"'],
  ])("says once that %s is not a Typst", async (path, words) => {
    const folder = await makeTemplate({ first: ["a"], second: ["b"] });
    const { exitCode, stderr } = await runCommand(folder, ["test", ".", "--typst", path]);
    expect(stderr).toMatch(new RegExp(`^--typst: .*${words}.*\\.\\n$`));
    expect(exitCode).toBe(2);
  });

  it("without cases is told where to put them", async () => {
    const folder = await makeTemporaryFolder("template-");
    await writeProject(folder, { "main.typ": "a" });
    const { exitCode, stderr } = await runCommand(folder, ["test", "."]);
    expect(stderr).toBe(`There are no cases: put data into cases/first.json, then run test --update.\n`);
    expect(exitCode).toBe(2);
  });
});
