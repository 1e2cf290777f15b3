/** `test` with the real Typst: what changes in the pages of a template is seen, and shown. */
import { readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { EXAMPLE_NAMES } from "../../../protocol/routes.ts";
import { runCommand, writeProject } from "../../support/clients/command-line.ts";
import { readXmlElements } from "../../support/readers/xml-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples", import.meta.url));

async function testIn(folder: string, ...args: string[]) {
  const { exitCode, stdout, stderr } = await runCommand(folder, ["test", ...args, "--json"]);
  const lines: { outcome: string; template: string; case: string; failure: string | null }[] = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  const cases = lines.filter(({ outcome }) => outcome === "case");
  const failures = Object.fromEntries(cases.map(({ case: name, failure }) => [name, failure]));
  return { exitCode, stderr, cases, failures };
}

it("the pages of all examples are as expected", async () => {
  // Their pages were made on another kind of processor than some that run this test.
  const { exitCode, cases } = await testIn(EXAMPLES, ...EXAMPLE_NAMES, "--tolerance", "0.1");
  expect(cases.map(({ failure }) => failure)).toEqual(cases.map(() => null));
  expect([...new Set(cases.map(({ template }) => template))]).toEqual(
    EXAMPLE_NAMES.map((name) => join(name, "main.typ")),
  );
  expect(exitCode).toBe(0);
});

/** A template that makes the cases of what they have: a page of each text, or the page of some markup. */
const SOURCE = `#set page(width: 40mm, height: 20mm, margin: 2mm)
#if "markup" in data { eval(data.markup, mode: "markup") } else [#for page in data.pages [#page #pagebreak(weak: true)]]`;
const SCHEMA = '{"properties": {"pages": {"items": {"type": "string"}}}}';

type Cases = Readonly<Record<string, object>>;

async function makeTemplate(cases: Cases) {
  const folder = await makeTemporaryFolder("template-");
  await writeCases(folder, cases);
  await writeProject(folder, { "main.typ": SOURCE, "data.schema.json": SCHEMA });
  return folder;
}

async function writeCases(folder: string, cases: Cases) {
  for (const [name, data] of Object.entries(cases)) {
    await writeProject(folder, { [`cases/${name}.json`]: JSON.stringify(data) });
  }
}

const DIFFERS = expect.stringMatching(/^Page 1 differs in [0-9]+ pixels, [0-9.]+ % of it\.$/);

describe("a template", () => {
  it("differs by what people see, or by as much as --tolerance allows, which the report of a faint difference names", async () => {
    const changes: Readonly<Record<string, readonly [before: string, after: string]>> = {
      "a fill that is lighter by a tenth": ["#rect(fill: rgb(60, 90, 150))", "#rect(fill: rgb(86, 116, 176))"],
      "a comma for a point in small grey text": ["#text(6pt, luma(180))[1.50]", "#text(6pt, luma(180))[1,50]"],
      "a faint change": ["#text(luma(40))[Total]", "#text(luma(44))[Total]"],
      "another word": ["a", "b"],
      // At 72 pixels per inch, nothing of this one is drawn.
      "a thin rule": ["#place(dy: 20.6pt - 2mm, rect(width: 30mm, height: 0.5pt, fill: black))", ""],
    };
    const casesOf = (side: 0 | 1) =>
      Object.fromEntries(Object.entries(changes).map(([name, markup]) => [name, { markup: markup[side] }]));
    const folder = await makeTemplate(casesOf(0));
    expect(await testIn(folder, ".", "--update")).toMatchObject({ exitCode: 0 });
    await writeCases(folder, casesOf(1));
    const { failures } = await testIn(folder, ".");
    expect(Object.values(failures)).toEqual(
      Object.keys(changes).map(() => expect.stringMatching(/^Page 1 differs in [0-9]+ pixels, /)),
    );
    const faint = failures["a faint change"];
    expect(faint).toMatch(/ % of it\. All are faint: --tolerance 0\.1 is for another kind of processor\.$/);
    const tolerant = await testIn(folder, ".", "--tolerance", "0.1");
    expect(tolerant.failures).toMatchObject({ "a faint change": null, "another word": DIFFERS });
    for (const value of ["-1", "1.1", ""]) {
      expect((await testIn(folder, ".", "--tolerance", value)).stderr).toContain("It must be a number from 0 to 1.");
    }
  });

  it("learns in one run what is wrong with each of its cases", async () => {
    const same = { pages: ["a"] };
    const folder = await makeTemplate({ same, other: same, fewer: { pages: ["a", "b"] }, more: same, gone: same });
    expect(await testIn(folder, ".", "--update")).toMatchObject({ exitCode: 0 });
    await writeCases(folder, { other: { pages: ["c"] }, fewer: same, more: { pages: ["a", "b"] }, fresh: same });
    await writeCases(folder, { wrong: { pages: [1] }, missing: {} });
    await rm(join(folder, "cases/gone.json"));
    const { exitCode, failures } = await testIn(folder, ".", "--junit", "junit.xml", "--report", "report.html");
    expect(failures).toEqual({
      fewer: "Page 2 is expected, but the document ends before it.",
      fresh: "It has no expected pages: run the command with --update.",
      gone: "There are expected pages, but no gone.json.",
      missing: expect.stringMatching(/^error: dictionary does not contain key "pages"\n {2}┌─ main\.typ:2:/),
      more: "Page 2 is not expected.",
      other: DIFFERS,
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
    const html = await readFile(join(folder, "report.html"), "utf8");
    expect(html).toContain("7 of 8 cases failed");
    const other = html
      .split("<h2")
      .slice(1)
      .find((part) => part.includes(": other<"));
    for (const picture of ["Before", "After", "Difference"]) expect(other).toContain(`alt="${picture}: page 1"`);
  });

  it("gets expected pages by --update, of the pages and resolution that later runs compare", async () => {
    const folder = await makeTemplate({ first: { pages: ["a", "b", "c"] } });
    const run = (...args: string[]) => runCommand(folder, ["test", "main.typ", ...args]);
    const updated = await run("--update", "--ppi", "40", "--pages", "2-3");
    expect(updated.stderr).toBe("ok   main.typ: first: 2 pages written\n1 of 1 cases passed.\n");
    expect((await run()).stderr).toBe("ok   main.typ: first: 2 pages as expected\n1 of 1 cases passed.\n");
    expect(await testIn(folder, ".", "--pages", "1-3")).toMatchObject({ exitCode: 1, cases: [{ pages: 3 }] });
    await writeCases(folder, { first: { pages: ["a", "b"] } });
    await run("--update");
    expect(await readdir(join(folder, "cases/first.expected"))).toEqual(["1.png", "options.json"]);
    await writeFile(join(folder, "cases/first.expected/options.json"), '{"ppi": 9}');
    expect((await testIn(folder, ".")).failures.first).toBe(
      'cases/first.expected/options.json must have "ppi", from 10 to 300, "pages", such as "1-2", or both.',
    );
  });

  it("refuses an expected page of another size before it is unpacked", async () => {
    const folder = await makeTemplate({ first: { pages: ["a"] } });
    await testIn(folder, ".", "--update");
    const path = join(folder, "cases/first.expected/1.png");
    const page = await readFile(path);
    const damage = async (offset: number, bytes: readonly number[]) => {
      const copy = Buffer.from(page);
      copy.set(bytes, offset);
      await writeFile(path, copy);
      return (await testIn(folder, ".")).failures.first;
    };
    const notPng = "The expected page 1 is not a PNG as Typst writes it: run the command with --update.";
    // The width and height are 2 ** 31 - 1.
    const large = [0x7f, 0xff, 0xff, 0xff];
    expect(await damage(16, [...large, ...large])).toMatch(
      /^Page 1 has 227 × 113 pixels, not 2147483647 × 2147483647:/,
    );
    expect(await damage(28, [1])).toBe(notPng);
    expect(await damage(0, [0, 0])).toBe(notPng);
  });

  it("reads cases through links within its folder, and nothing outside of it", async () => {
    const folder = await makeTemplate({ first: { pages: ["a"] } });
    await writeFile(join(folder, "data.json"), '{"pages": ["b"]}');
    await symlink("../data.json", join(folder, "cases/linked.json"));
    expect(await testIn(folder, ".", "--update")).toMatchObject({ exitCode: 0, cases: [{}, { case: "linked" }] });

    const outside = await makeTemporaryFolder("outside-");
    await writeFile(join(outside, "secret"), "secret");
    const page = join(folder, "cases/first.expected/1.png");
    await rm(page);
    await symlink(join(outside, "secret"), page);
    const read = await testIn(folder, ".", "--report", "report.html");
    expect(read.failures.first).toContain("1.png is not sent: a link leads out of the folder");
    expect(await readFile(join(folder, "report.html"), "utf8")).not.toContain(btoa("secret"));

    await rm(join(folder, "cases/first.expected"), { recursive: true });
    await symlink(outside, join(folder, "cases/first.expected"));
    const written = await testIn(folder, ".", "--update");
    expect(written.failures.first).toBe("cases/first.expected is a link, so nothing was written there.");
    expect(await readdir(outside)).toEqual(["secret"]);
  });

  it("is rendered by a deployment with --url, with the same pages", async () => {
    const { edge } = await sharedService();
    const folder = await makeTemplate({ first: { pages: ["a", "b"] } });
    await testIn(folder, ".", "--update");
    expect(await testIn(folder, ".", "--url", edge.url.origin)).toMatchObject({ exitCode: 0 });
    await writeFile(join(folder, "main.typ"), "#oops");
    const { failures } = await testIn(folder, ".", "--url", edge.url.origin);
    expect(failures.first).toMatch(/^template_compile_failed/);
  });

  it("is told once that there is no Typst, or where cases belong", async () => {
    const folder = await makeTemplate({ first: {}, second: {} });
    const { exitCode, stderr } = await runCommand(folder, ["test", ".", "--typst", "nothing"]);
    expect(stderr).toMatch(/^--typst: .*does not run \(there is no such file.*\.\n$/);
    expect(exitCode).toBe(2);
    await rm(join(folder, "cases"), { recursive: true });
    const { stderr: advice } = await runCommand(folder, ["test", "."]);
    expect(advice).toBe("There are no cases: put data into cases/first.json, then run test --update.\n");
  });
});

it("a template that cannot run fails by itself, and the reports have the cases of all others", async () => {
  const folder = await makeTemporaryFolder("templates-");
  await writeProject(folder, { "a/main.typ": "x", "b/main.typ": "x", "b/cases/one.json": "{}" });
  await runCommand(folder, ["test", "b", "--update"]);
  const { exitCode, cases } = await testIn(folder, "a", "gone", "b", "--junit", "junit.xml", "--report", "report.html");
  expect(cases.map(({ template, case: name, failure }) => [template, name, failure === null])).toEqual([
    ["a", "(all)", false],
    ["gone", "(all)", false],
    ["b/main.typ", "one", true],
  ]);
  expect(exitCode).toBe(1);
  expect(await readFile(join(folder, "junit.xml"), "utf8")).toContain('tests="3" failures="2"');
  expect(await readFile(join(folder, "report.html"), "utf8")).toContain("gone does not exist");
  const alone = await testIn(folder, "a", "--junit", "alone.xml");
  expect(alone.exitCode).toBe(2);
  expect(await readFile(join(folder, "alone.xml"), "utf8")).toContain("There are no cases");
});
