/** The names of the documents of `--each`: every row under its own right name, or named with what is wrong with it. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeProject, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";

/** Renders each row of a file into the folder `out`, and lists what is there afterwards. */
async function nameEach(file: string, content: string, pattern: string) {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject({ "a.typ": "#data", [file]: content });
  const args = ["render", "a.typ", "--each", file, "-o", `out/${pattern}`];
  const { stderr, exitCode } = await runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  const found = await readdir(join(folder, "out"), { recursive: true }).catch(() => []);
  const files = found.filter((name) => name.endsWith(".pdf")).toSorted();
  return { stderr, exitCode, files, sent: service.bodies.length };
}

describe("a name has", () => {
  it.each([
    [
      "the digits of a number as they are written",
      "p.json",
      '[{"v":1.50},{"v":1e3},{"v":-0},{"v":9007199254740993}]',
      "{v}.pdf",
      ["-0.pdf", "1.50.pdf", "1e3.pdf", "9007199254740993.pdf"],
    ],
    [
      "a number in an array of an array",
      "p.json",
      '[{"a":[[1,12345678901234567890]]}]',
      "{a.0.1}.pdf",
      ["12345678901234567890.pdf"],
    ],
    ["the last of two members of one name, as the template does", "p.jsonl", '{"i":1,"i":2}', "{i}.pdf", ["2.pdf"]],
    [
      "the characters that are escaped in JSON",
      "p.jsonl",
      '{"\\u0069d":"\\u00e9\\ud83d\\ude00"}',
      "{id}.pdf",
      ["é😀.pdf"],
    ],
    [
      "a value that ends with a dot, in the middle",
      "p.csv",
      "co\nAcme Inc.\nBar S.A.\n",
      "{#:03} {co} invoice.pdf",
      ["001 Acme Inc. invoice.pdf", "002 Bar S.A. invoice.pdf"],
    ],
    ["a value that ends with a dot, before the extension", "p.csv", "co\nAcme Inc.\n", "{co}.pdf", ["Acme Inc..pdf"]],
    [
      "a value that begins with a dot, in the middle",
      "p.csv",
      "co\n.NET Foundation\n",
      "{#} {co}.pdf",
      ["1 .NET Foundation.pdf"],
    ],
    ["a word that Windows reserves, as a part", "p.csv", "co\nCON\nnul\n", "{#}-{co}.pdf", ["1-CON.pdf", "2-nul.pdf"]],
    ["a space at the end of a value, in the middle", "p.jsonl", '{"co":"Foo Ltd. "}', "{co}x.pdf", ["Foo Ltd. x.pdf"]],
    ["the dot of the pattern in front", "p.csv", "co\nAda\n", ".{co}.pdf", [".Ada.pdf"]],
    [
      "columns with a dot",
      "p.csv",
      "Kd.-Nr.;address.city\n1007;Auental\n",
      "{Kd.-Nr.}-{address.city}.pdf",
      ["1007-Auental.pdf"],
    ],
    ["columns with a slash", "p.csv", "Kd/Nr,x\n7,1\n", "{Kd/Nr}.pdf", ["7.pdf"]],
    ["columns with a number sign", "p.csv", "#id,x\n7,1\n", "{#id}.pdf", ["7.pdf"]],
    [
      "a member of exactly that name before a member of a member",
      "p.json",
      '[{"a.b":"own","a":{"b":"other"}},{"a":{"b":"other"}}]',
      "{a.b}.pdf",
      ["other.pdf", "own.pdf"],
    ],
    ["a member with a dot of a member", "p.json", '[{"a":{"Kd.-Nr.":"deep"}}]', "{a.Kd.-Nr.}.pdf", ["deep.pdf"]],
    [
      "columns below the line of a spreadsheet that names its delimiter, in quotes",
      "p.csv",
      '\ufeff"sep=|"\nid|x\n1|2\n',
      "{id}-{x}.pdf",
      ["1-2.pdf"],
    ],
  ])("%s", async (_what, file, content, pattern, expected) => {
    const { stderr, files } = await nameEach(file, content, pattern);
    expect(files).toEqual(expected);
    expect(stderr).toMatch(
      new RegExp(`^(p\\.csv: .*\n)?${expected.length} of ${expected.length} documents rendered\\.\n$`),
    );
  });
});

describe("a row without a possible name stops the batch before anything is made:", () => {
  it.each([
    ["Acme Inc.", "{co}/a.pdf", 'the folder "Acme Inc." would end with a dot or a space, which Windows leaves out'],
    ["Acme ", "{co}/a.pdf", 'the folder "Acme " would end with a dot or a space, which Windows leaves out'],
    [".NET", "{co}.pdf", 'the name ".NET.pdf" would begin with a dot, which hides it'],
    [" Acme", "{co}.pdf", 'the name " Acme.pdf" would begin with a space'],
    [".", ".{co}/a.pdf", 'the folder ".." would end with a dot or a space, which Windows leaves out'],
    ["con", "{co}.pdf", 'the name "con.pdf" is reserved on Windows'],
    ["lpt¹", "{co}.pdf", 'the name "lpt¹.pdf" is reserved on Windows'],
    ["co", "{co}n.pdf", 'the name "con.pdf" is reserved on Windows'],
    ["A/S", "{co}.pdf", '{co} is "A/S": no file name may have the character "/"'],
    ["Who?", "{co}.pdf", '{co} is "Who?": on Windows, no file name may have the character "?"'],
    ["a\nb", "{co}.pdf", '{co} is "a\\nb": no file name may have the character "\\n"'],
    ["..\\x", "{co}.pdf", '{co} is "..\\\\x": no file name may have the character "\\\\"'],
    ["a\u0000b", "{co}.pdf", '{co} is "a\\u0000b": no file name may have the character "\\u0000"'],
    ["a\u202efdp.exe", "{co}.pdf", '{co} is "a\\u202efdp.exe": no file name may have the character "\\u202e"'],
    ["..", "{co}.pdf", 'the name "...pdf" would begin with a dot, which hides it'],
    ["", "{co}.pdf", "{co} is empty"],
    [" ", "{co}.pdf", "{co} is empty"],
  ])("%j in %s", async (value, pattern, words) => {
    const { stderr, exitCode, sent } = await nameEach("p.jsonl", JSON.stringify({ co: value }), pattern);
    expect(stderr).toBe(`Nothing was done:\np.jsonl, line 1: ${words}\n`);
    expect([exitCode, sent]).toEqual([2, 0]);
  });

  it("a name is that of one row alone, whatever its case and the form of its accents", async () => {
    const { stderr, exitCode, sent } = await nameEach(
      "p.jsonl",
      '{"co":"Zo\u00eb"}\n\n{"co":"Zo\u00eb"}\n{"co":"ZOE\u0308"}',
      "{co}.pdf",
    );
    expect(stderr).toContain("p.jsonl, line 3: out/Zo\u00eb.pdf is already the file of line 1");
    expect(stderr).toContain("p.jsonl, line 4: ");
    expect([exitCode, sent]).toEqual([2, 0]);
  });

  it("a name has at most 255 bytes, which is what file systems take", async () => {
    const row = (bytes: number) => JSON.stringify({ co: `${"é".repeat(20)}${"x".repeat(bytes - 40)}` });
    expect((await nameEach("p.jsonl", row(251), "{co}.pdf")).exitCode).toBe(0);
    const { stderr } = await nameEach("p.jsonl", row(252), "{co}.pdf");
    expect(stderr).toContain("p.jsonl, line 1: the name would have 256 bytes, and file systems allow 255\n");
  });

  it("every such row is named, and what is wrong with the first twenty", async () => {
    const rows = Array.from({ length: 60 }, (_, index) => (index % 2 === 1 || index > 50 ? "A/S" : `co${index}`));
    const { stderr, sent } = await nameEach("p.csv", `co,x\n${rows.map((co) => `${co},1`).join("\n")}\n`, "{co}.pdf");
    expect(stderr).toContain('p.csv, row 40 (line 41): {co} is "A/S"');
    expect(stderr).not.toContain("row 42 (line");
    expect(stderr).toContain("\n… and 14 more: 42, 44, 46, 48, 50, 52-60.\n");
    expect(sent).toBe(0);
  });

  it("a member that is neither text nor a number is said to be one", async () => {
    const { stderr } = await nameEach("p.jsonl", '{"a":{"b":1},"c":[1]}\n{"a":null}\n{"a":true}', "{a}.pdf");
    expect(stderr).toContain("p.jsonl, line 1: {a} is an object, but a file name takes text or a number\n");
    expect(stderr).toContain("p.jsonl, line 2: {a} is null, but a file name takes text or a number\n");
    expect(stderr).toContain("p.jsonl, line 3: {a} is a boolean, but a file name takes text or a number\n");
    expect(stderr).not.toContain("There are");
  });
});
