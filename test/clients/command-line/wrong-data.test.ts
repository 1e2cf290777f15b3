/** A template that does not use the caller's data would make a wrong document without a word. Here are the words. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeProject, type ProjectFiles, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";
import { sharedService } from "../../support/service/test-service.ts";

const LETTER: ProjectFiles = {
  "letter/main.typ": '#let data = json("data.json")\nDear #data.name,',
  "letter/data.json": '{"name": "Sample"}',
  "letter/cases/one.json": '{"name": "One"}',
  "people.jsonl": '{"name": "Grace"}\n{"name": "Linus"}\n',
  "other.json": '{"name": "Grace"}',
};

const wrong = (option: string) =>
  `letter/main.typ:1 reads the file data.json into a \`data\` of its own, not the data of ${option}: delete \`#let data = json("data.json")\` to use that.`;

async function begin(files: ProjectFiles) {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject(files);
  const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  return { service, folder, run };
}

describe("a template that reads its own data file", () => {
  it("is refused with --each and in tests, before anything is sent or compiled", async () => {
    const { service, run } = await begin(LETTER);
    const each = ["letter", "--each", "people.jsonl"];
    expect(await run("render", ...each, "-o", "out/{name}.pdf")).toMatchObject({
      exitCode: 4,
      stderr: `${wrong("--each")} Nothing was sent.\n`,
    });
    expect(await run("check", ...each)).toMatchObject({
      exitCode: 4,
      stderr: `${wrong("--each")} Nothing was compiled.\n`,
    });
    expect(await run("test", "letter")).toMatchObject({
      exitCode: 4,
      stderr: `${wrong("the cases")} Nothing was compiled.\n`,
    });
    expect(service.bodies).toEqual([]);
  });

  it("is noted with --data, and refused with --strict", async () => {
    const { service, run } = await begin(LETTER);
    const render = ["render", "letter", "--data", "other.json", "-o", "x.pdf"];
    const noted = await run(...render);
    expect(noted.exitCode).toBe(0);
    expect(noted.stderr).toContain(`note: ${wrong("--data")}\n`);
    expect(await run(...render, "--strict")).toMatchObject({
      exitCode: 4,
      stderr: `${wrong("--data")} Nothing was sent.\n`,
    });
    expect(service.bodies).toHaveLength(1);
  });

  it("is fine without other data, and where it uses the data, too", async () => {
    const { run } = await begin({
      ...LETTER,
      "reader.typ": '#import "lib/reader.typ": data\n#data.name',
      "lib/reader.typ": '#let texts = json("/letter/data.json")\n#let data = json("/:data.json")',
      "both.typ": '#let texts = json("letter/data.json")\n#texts.name #data.name',
    });
    expect(await run("check", "letter")).toMatchObject({ exitCode: 0, stderr: "letter/main.typ compiles.\n" });
    for (const name of ["both.typ", "reader.typ"]) {
      expect(await run("check", name, "--each", "people.jsonl", "--strict")).toMatchObject({
        exitCode: 0,
        stderr: "2 of 2 documents compile with all fonts and characters.\n",
      });
    }
  });

  it("is found where a file that it imports reads it", async () => {
    const { run } = await begin({
      ...LETTER,
      "a.typ": '#import "lib.typ": name\n#name',
      "lib.typ": '\n#let name = json("letter/data.json").name',
    });
    const { exitCode, stderr } = await run("check", "a.typ", "--each", "people.jsonl");
    expect(exitCode).toBe(4);
    expect(stderr).toContain("lib.typ:2 reads the file letter/data.json, not the data of --each");
  });
});

it("a template that reads sys.inputs is refused with --each unless it uses the data, or has it as an input", async () => {
  const { run } = await begin({
    ...LETTER,
    "a.typ": '#sys.inputs.at("name", default: "Sample")',
    "b.typ": '#sys.inputs.at("language", default: "en") #data.name',
  });
  const each = ["--each", "people.jsonl"];
  expect(await run("check", "a.typ", ...each)).toMatchObject({
    exitCode: 4,
    stderr:
      "a.typ:1 reads sys.inputs, not the data of --each: that is `data`, which a.typ never uses. --data-as-input KEY passes it on as an input. Nothing was compiled.\n",
  });
  expect((await run("check", "a.typ", ...each, "--data-as-input", "name")).exitCode).toBe(0);
  expect((await run("check", "b.typ", ...each)).exitCode).toBe(0);
});

describe("documents that are the same although their rows differ", () => {
  const files = {
    // The data is a parameter here, whatever its name says.
    "a.typ": '#let letter(row) = if row.name == "Linus" [= Other] else [= Same]\n#letter(data)',
    "people.jsonl": '{"name": "Grace"}\n{"name": "Ada"}\n{"name": "Linus"}\n{"name": "Linus"}\n',
  };
  const said = (first: string, second: string) =>
    `2 documents are the same although their rows differ (${first}, ${second}): does the template use \`data\`?`;

  it.each(["pdf", "png"])("are named in the summary: %s", async (format) => {
    const service = await sharedService();
    const folder = await makeProject(files);
    const env = { SERVICE_URL: service.edge.url.origin };
    const args = ["render", "a.typ", "--each", "people.jsonl", "-o", `out/{#}.${format}`, "--jobs", "1"];
    const run = await runCommand(folder, args, { env });
    const sentence = said(`out/1.${format}`, `out/2.${format}`);
    expect(run).toMatchObject({ exitCode: 0, stderr: `note: ${sentence}\n4 of 4 documents rendered.\n` });
    const json = await runCommand(folder, [...args, "--overwrite", "--json", "--strict"], { env });
    expect(json.exitCode).toBe(4);
    expect(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ made: 4, notes: [sentence] });
    expect(await readdir(join(folder, "out"))).toHaveLength(4);
  });

  it("are named by check", async () => {
    const { run } = await begin(files);
    const sentence = said("line 1", "line 2");
    const noted = await run("check", "a.typ", "--each", "people.jsonl");
    expect(noted).toMatchObject({ exitCode: 0, stderr: `note: ${sentence}\n4 of 4 documents compile.\n` });
    expect((await run("check", "a.typ", "--each", "people.jsonl", "--strict")).exitCode).toBe(4);
  });
});

it("the summary names the columns of CSV, in which a missing header row shows", async () => {
  const { run } = await begin({
    "a.typ": '#data.at("name", default: "?")',
    "list.csv": "Ada,first prize\nLinus,second prize\n",
    "wide.csv": `${Array.from({ length: 12 }, (_, index) => `c${index}${"x".repeat(50)}`).join(";")}\n${"a;".repeat(11)}a\n`,
  });
  const reading = 'list.csv: columns "Ada", "first prize", separated by ","; 1 row';
  const render = await run("render", "a.typ", "--each", "list.csv", "-o", "out/{#}.pdf");
  expect(render.stderr).toBe(`${reading}\n1 of 1 documents rendered.\n`);
  expect((await run("check", "a.typ", "--each", "list.csv")).stderr).toBe(`${reading}\n1 of 1 documents compile.\n`);
  const json = await run("render", "a.typ", "--each", "list.csv", "-o", "more/{#}.pdf", "--json");
  expect(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ reading });
  const wide = await run("check", "a.typ", "--each", "wide.csv");
  expect(wide.stderr).toMatch(/columns "c0x{38}…", .*, "c9x{38}…" and 2 more, separated by ";"; 1 row\n/);
});

it("the error that a template for an older Typst gets comes with a hint", async () => {
  const hint =
    "the template was written for an older Typst: the page /help/templates#older-typst of the service has what to write instead";
  const { run } = await begin({
    "a.typ": "#locate(loc => loc.page())",
    "b.typ": '#json.decode("{}")',
    "c.typ": '#state("a").display()',
    "d.typ": "#let f(x) = x\n#show f: it => it",
  });
  for (const name of ["a.typ", "b.typ", "c.typ"]) {
    expect((await run("check", name)).stderr).toContain(`\n  = hint: ${hint}\n`);
    expect(JSON.parse((await run("check", name, "--json")).stdout).diagnostics[0].hints).toEqual([hint]);
  }
  expect((await run("check", "d.typ")).stderr).not.toContain("older Typst");
});

it("types by their old names are noted, in files that are sent by their lines, and once for each package", async () => {
  const { run } = await begin({
    "a.typ": '#import "lib.typ": f\n#if type(1) == "integer" [a]\n#f(1) #import "@local/p:1.0.0"',
    "packages/local/p/1.0.0/typst.toml": '[package]\nname = "p"\nversion = "1.0.0"\nentrypoint = "src/p.typ"\n',
    "packages/local/p/1.0.0/src/p.typ": '#if type(1) == "float" [p]\n#if type(1) == "integer" [p]',
    "lib.typ": '#let f(x) = if type(x) != "string" [b]',
  });
  const { exitCode, stderr } = await run("check", "a.typ");
  expect(exitCode).toBe(0);
  expect(stderr).toBe(
    [
      'note: a.typ:2: type(1) == "integer" is always false since Typst 0.14: write type(1) == int.',
      'note: lib.typ:1: type(x) != "string" is always true since Typst 0.14: write type(x) != str.',
      "note: @local/p:1.0.0 compares types with their names in 2 places, which are never equal since Typst 0.14: look for a newer version of the package.",
      "a.typ compiles.",
      "",
    ].join("\n"),
  );
});

it("a name that is only part of a column's gets a hint with the whole one", async () => {
  const folder = await makeProject({ "a.typ": "#data.address.city", "p.csv": "id,address.city\n1,Oslo\n" });
  const { stderr } = await runCommand(folder, ["check", "a.typ", "--each", "p.csv"]);
  expect(stderr).toContain('hint: the data has "address.city", which .at("address.city") reads');
});

it.each([
  ["#data.items.at(0).nummer", "number"],
  ['#data.at("custmer")', "customer"],
  ['#set page(paper: "A4")', "a4"],
  ['#set text(weight: "blod")', "bold"],
])("a name or a word that Typst does not know gets a hint with the one that is like it: %s", async (source, meant) => {
  const data = JSON.stringify({ customer: "Ada", items: [{ number: 1 }] });
  const folder = await makeProject({ "a.typ": source, "a.json": data });
  const { stderr } = await runCommand(folder, ["check", "a.typ", "-d", "a.json"]);
  expect(stderr).toContain(`hint: did you mean "${meant}"?\n`);
});

it.each([
  ["#image(data.photo)", "data:image/png;base64,iVBORw0KGgo="],
  ["#image(data.photo)", "iVBORw0KGgoAAAANSUhEUg"],
  ["#image(data.photo)", "A".repeat(5000)],
  ["#image(bytes(data.photo))", "iVBORw0KGgoAAAANSUhEUg=="],
])("a picture where %s wants something else gets a hint at the page, and is not repeated", async (source, photo) => {
  const folder = await makeProject({ "a.typ": source, "a.json": JSON.stringify({ photo }) });
  const { stderr } = await runCommand(folder, ["check", "a.typ", "-d", "a.json"]);
  expect(stderr).toContain("hint: Typst decodes no Base64: the page /help/templates#a-picture-in-the-data");
  expect(stderr).not.toContain(photo);
});

it("a label that a loop makes twice gets a hint at the page", async () => {
  const folder = await makeProject({
    "a.typ": '#set heading(numbering: "1.")\n#for _ in range(2) [= Terms <terms>\n@terms]',
  });
  const { stderr } = await runCommand(folder, ["check", "a.typ"]);
  expect(stderr).toContain(
    "hint: in a loop, each round needs a label of its own: the page /help/templates#many-letters",
  );
});
