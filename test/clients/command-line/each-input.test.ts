/** What `--each` takes, and what it says of rows that fail. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { problem, serviceUnavailable } from "../../../rules/problem.ts";
import { makeProject, makeTimeout, runCommand } from "../../support/clients/command-line.ts";
import { reject, sendPdf, startScriptedService, WHOLE_PDF } from "../../support/clients/scripted-service.ts";

interface Options {
  readonly output?: string;
  readonly args?: readonly string[];
  readonly input?: string;
  readonly source?: string;
  readonly answer?: Parameters<typeof startScriptedService>[0];
}

/** Renders each row of a file, one after the other. */
async function renderEach(name: string, content: string | Uint8Array, options: Options = {}) {
  const { output = "out/{#}.pdf", args = [], input, source = "#data", answer = sendPdf } = options;
  const service = await startScriptedService(answer);
  const folder = await makeProject({ "a.typ": source, ...(name === "-" ? {} : { [name]: content }) });
  const run = (...more: string[]) =>
    runCommand(folder, ["render", "a.typ", "-o", output, "--jobs", "1", ...args, ...more], {
      env: { SERVICE_URL: service.url },
      ...(input !== undefined && { input }),
    });
  return { service, folder, run, ...(await run("--each", name)), data: service.bodies.map(({ data }) => data) };
}

const ADA_AND_BEN = [
  { name: "Ada", city: "Köln; Ost" },
  { name: 'B"en', city: "two\nlines" },
];

describe("--each takes", () => {
  it.each([
    ["CSV with commas", "p.csv", 'name,city\nAda,Köln; Ost\n"B""en","two\nlines"\n'],
    ["CSV of a spreadsheet", "p.csv", '\ufeffname;city\r\nAda;"Köln; Ost"\r\n"B""en";"two\nlines"\r\n;\r\n'],
    ["CSV with bars", "p.csv", 'name|city\nAda|Köln; Ost\n"B""en"|"two\nlines"\n'],
    ["values separated by tabs", "p.tsv", 'name\tcity\nAda\tKöln; Ost\n"B""en"\t"two\nlines"'],
    ["CSV in a file of another name", "people.txt", 'name,city\nAda,Köln; Ost\n"B""en","two\nlines"\n'],
    ["JSON Lines", "p.jsonl", `${ADA_AND_BEN.map((one) => JSON.stringify(one)).join("\n\n")}\n`],
    [
      "JSON Lines with a byte order mark and CR LF",
      "p.ndjson",
      `\ufeff${ADA_AND_BEN.map((one) => JSON.stringify(one)).join("\r\n")}`,
    ],
    ["a JSON array", "p.json", JSON.stringify(ADA_AND_BEN, null, 2)],
    ["a JSON array on one line", "p.json", JSON.stringify(ADA_AND_BEN)],
  ])("%s", async (_what, name, content) => {
    const { data, stderr } = await renderEach(name, content);
    expect(stderr).toMatch(/^(?:p\.[ct]sv: .*\n|people\.txt: .*\n)?2 of 2 documents rendered\.\n$/);
    expect(data).toEqual(ADA_AND_BEN);
  });

  it.each([
    ["JSON Lines", '{"id": 1}\n{"id": 2}\n', [{ id: 1 }, { id: 2 }]],
    ["a JSON array", '[{"id": 1}, {"id": 2}]', [{ id: 1 }, { id: 2 }]],
    [
      "CSV",
      "id,name\n1,Ada\n2,Ben",
      [
        { id: "1", name: "Ada" },
        { id: "2", name: "Ben" },
      ],
    ],
  ])("%s from standard input", async (_what, input, expected) => {
    const { data } = await renderEach("-", "", { input, output: "{id}.pdf" });
    expect(data).toEqual(expected);
  });

  it("numbers of a JSON array with all their digits", async () => {
    const { service } = await renderEach("p.json", "[9007199254740993]");
    expect(service.requests.at(-1)?.headers["content-length"]).toBe(
      String('{"data":9007199254740993,"source":"#data","files":{},"output":{"format":"pdf"}}'.length),
    );
  });
});

describe("--each refuses in one sentence, and nothing is sent,", () => {
  it.each([
    [
      "a spreadsheet",
      "p.xlsx",
      Buffer.from("PK\u0003\u0004rest"),
      /^p\.xlsx is a spreadsheet or an archive: save the sheet as CSV/,
    ],
    [
      "one JSON object",
      "p.json",
      '{\n "a": 1\n}',
      /^p\.json is a single JSON object, which makes one document: pass it with --data\./,
    ],
    ["text", "p.txt", "hello\nworld", /^p\.txt is not a list of data\. --each takes JSON Lines, a JSON array, or CSV/],
    ["another encoding", "p.csv", Buffer.from([0x6e, 0x2c, 0xe4, 0x0a]), /^p\.csv is not UTF-8: save it as UTF-8\./],
    [
      "UTF-16",
      "p.csv",
      Buffer.from("\ufeffa,b\n1,2\n", "utf16le"),
      /^p\.csv begins with the byte order mark of UTF-16/,
    ],
    ["an array with a mistake", "p.json", '[{"a": 1},\n {"b" 2}]', /^p\.json:2:7 is not JSON\./],
    [
      "a row with too few columns",
      "p.csv",
      "a,b\n1,2\n3\n",
      /^p\.csv:3: the row has 1 value, the header has 2, separated by ","\./,
    ],
    ["a row with too many columns", "p.csv", "a,b\n1,2,3\n", /^p\.csv:2: the row has 3 values, the header has 2, /],
    [
      "a title above the header",
      "p.csv",
      "List\nname;city\nAda;Ulm\n",
      /^p\.csv:2: the row has 2 values, the header has 1, /,
    ],
    [
      "a last separator in the header alone",
      "p.csv",
      "a;b;\n1;2\n",
      /^p\.csv:2: the row has 2 values, the header has 3, /,
    ],
    [
      "two separators that both fit",
      "p.csv",
      "Preis, netto;Menge\n1,50;3\n",
      /^p\.csv has the same columns in all rows by two separators: by "," they are "Preis", " netto;Menge"; by ";" they are "Preis, netto", "Menge"\. .*--delimiter\./,
    ],
    [
      "commas under tabs",
      "p.tsv",
      "a\tb\n1,2\n",
      /^p\.tsv:2: the row has 1 value, the header has 2, separated by tabs\./,
    ],
    [
      "a quote that is not closed",
      "p.csv",
      'a,b\n1,2\n1,"2\n3,4\n',
      /^p\.csv:[0-9]+ cannot be read as CSV, separated by ",": /,
    ],
    ["two columns of one name", "p.csv", "a,a\n1,2\n", /^p\.csv:1: two columns have the name "a"\./],
    ["a column without a name", "p.csv", "a,\n1,2\n", /^p\.csv:1: column 2 has no name/],
    ["a header alone", "p.csv", "a,b\n", /^p\.csv contains no data\./],
    [
      "more than 100000 rows",
      "p.csv",
      `a,b\n${"1,2\n".repeat(100_001)}`,
      /^p\.csv has more than 100000 documents: split it\./,
    ],
  ])("%s", async (_what, name, content, words) => {
    const { stderr, exitCode, service } = await renderEach(name, content);
    expect(stderr).toMatch(words);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(exitCode).toBe(2);
    expect(service.requests).toHaveLength(0);
  });
});

describe("CSV", () => {
  it.each([
    ["integers as names", "Sparte;2025;2024\nHof;310;295\n", ["--data-as-input", "row"]],
    ["integers as names, of JSON Lines", '{"Sparte":"Hof","2025":"310","2024":"295"}', []],
  ])("keeps the order of its columns: %s", async (_what, content, args) => {
    const name = content.startsWith("{") ? "p.jsonl" : "p.csv";
    const { service } = await renderEach(name, content, { args, source: "#data #sys.inputs" });
    expect(service.texts.at(-1)).toContain('{"Sparte":"Hof","2025":"310","2024":"295"}');
  });

  it.each([
    ["by what fits all rows", "p.csv", "Ort, Land;Nr\nUlm;1\n", [], '"Ort, Land", "Nr", separated by ";"; 1 row'],
    ["by its extension", "p.tsv", "a, b\tc, d\n1, 2\t3, 4\n", [], '"a, b", "c, d", separated by tabs; 1 row'],
    ["as if its name were right", "p.tsv", "a;b\n1;2\n", [], '"a", "b", separated by ";"; 1 row'],
    ["by --delimiter", "p.csv", "a,b;c\n1,2;3\n", ["--delimiter", ";"], '"a,b", "c", separated by ";"; 1 row'],
    ["by --delimiter for one column", "p.csv", "a\n1;2\n", ["--delimiter", ","], '"a"; 1 row'],
    ["by its first line", "p.csv", "\ufeffsep=;\r\na,b;c\r\n1,2;3\r\n", [], '"a,b", "c", separated by ";"; 1 row'],
    [
      "and says that blanks stay",
      "p.csv",
      "a, b\n1, 2\n",
      [],
      '"a", "b", separated by ","; 1 row; values keep the blanks around them: "b" is " 2" in line 2',
    ],
  ])("is separated %s", async (_what, name, content, args, words) => {
    const { stderr } = await renderEach(name, content, { args });
    expect(stderr).toBe(`${name}: columns ${words}\n1 of 1 documents rendered.\n`);
  });

  it("has the line of each row, whatever ends the lines", async () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const content = ["name,note", `Ada,"one${end}zwö"`, "", '"",x', ",", '"",y'].join(end);
      const { stderr } = await renderEach("p.csv", content, { output: "{name}.pdf" });
      expect(stderr).toContain("p.csv, row 2 (line 5): {name} is empty");
      expect(stderr).toContain("p.csv, row 3 (line 7): {name} is empty");
      const named = await renderEach("p.csv", `sep=,${end}${content}`, { output: "{name}.pdf" });
      expect(named.stderr).toContain("p.csv, row 3 (line 8): {name} is empty");
    }
  });

  it.each([
    ["a,b\n10,20\n", "note: a.typ:2: computes with data.a, a text, which Typst joins: write decimal(data.a)."],
    ["a;b\n1,50;2\n;3\n", "note: a.typ:2: computes with data.a"],
    ["a,b\n1,x\n", ""],
    ["a,b\n0171,2\n", ""],
    ['{"a":1,"b":2}\n{"a":1,"b":3}', ""],
  ])("of %j whose numbers a template adds as texts is noted, as %j", async (content, note) => {
    const { stderr } = await renderEach("p.txt", content, { source: "Sum:\n#(data.a + data.b)" });
    expect(/^note: .*/m.exec(stderr)?.[0] ?? "").toMatch(new RegExp(`^${RegExp.escape(note)}`));
    expect(stderr.includes("note")).toBe(note !== "");
  });

  it.each(["a", "ab", '"', "1", ""])("takes no --delimiter %j", async (delimiter) => {
    const { exitCode, data } = await renderEach("p.csv", "a,b\n1,2\n", { args: ["--delimiter", delimiter] });
    expect([exitCode, data]).toEqual([2, []]);
  });
});

describe("a file name", () => {
  it("has the number of the row, with leading zeros, and members of members", async () => {
    const rows = '[{"a": {"b": "x"}}, {"a": {"b": 7}}]';
    const { stderr, folder } = await renderEach("p.json", rows, { output: "{#:03}-{a.b}.pdf" });
    expect(stderr).toContain("2 of 2");
    expect(await readFile(join(folder, "002-7.pdf"), "utf8")).toBe(WHOLE_PDF);
  });

  it.each([
    ["{nmae}.pdf", 'p.csv, row 2 (line 3): there is no {nmae}\nrow 1 (line 2) has: "name", "city". Did you mean name?'],
    ["all.pdf", "p.csv, row 2 (line 3): all.pdf is already the file of row 1 (line 2)"],
    ["{#:x}.pdf", "{#:x} must be a {name}, {#}, or with zeros in front {#:03}.\n"],
    ["{}.pdf", "{} must be a {name}"],
    ["{nme.pdf", "--output: a { stands alone. A placeholder is a {name}.\n"],
    ["name}.pdf", "--output: a } stands alone."],
  ])("of %s is refused", async (output, words) => {
    const { stderr, exitCode, data } = await renderEach("p.csv", "name,city\nAda,x\nBen,y\n", { output });
    expect(stderr).toContain(words);
    expect([exitCode, data]).toEqual([2, []]);
  });

  it("that one item does not provide is reported with its number, and what it has", async () => {
    const array = await renderEach("p.json", '[{"name": "a"}, {"nam": "b"}]', { output: "{name}.pdf" });
    expect(array.stderr).toContain('p.json, item 2: there is no {name}\nitem 2 has: "nam". Did you mean nam?');
  });
});

describe("--line", () => {
  const rows = '{"name":"Ada"}\nno JSON\n{"name":"Ben"}\n';

  it("makes one document under any name, whatever is wrong with the other rows", async () => {
    const { stderr, folder, data } = await renderEach("p.jsonl", rows, { output: "ben.pdf", args: ["--line", "3"] });
    expect(stderr).toBe("1 of 1 documents rendered.\n");
    expect(data).toEqual([{ name: "Ben" }]);
    expect(await readFile(join(folder, "ben.pdf"), "utf8")).toBe(WHOLE_PDF);
  });

  it("for a wrong row says what is wrong", async () => {
    const { stderr, exitCode } = await renderEach("p.jsonl", rows, { output: "{name}.pdf", args: ["--line", "2"] });
    expect(stderr).toBe("Nothing was done:\np.jsonl, line 2: it is not JSON\n");
    expect(exitCode).toBe(2);
  });
});

describe("a document that fails", () => {
  it("is named, with the check that shows why, and is made by the same command once it can be", async () => {
    let isFixed = false;
    const { stderr, exitCode, run } = await renderEach("p.csv", "id\na\nb\nc\n", {
      output: "{id}.pdf",
      answer: (response, count) => {
        if (count === 2 && !isFixed) reject(problem("template_compile_failed", "No.", {}))(response);
        else sendPdf(response);
      },
    });
    expect(stderr).toContain("row 2 (line 3), b.pdf: template_compile_failed: No.");
    expect(stderr).toContain("Run the same command again to make those that failed.");
    expect(stderr).toContain("To see the error: document-rendering check a.typ --each p.csv --line 2");
    expect(exitCode).toBe(8);
    isFixed = true;
    expect((await run("--each", "p.csv")).stderr).toMatch(
      /^p\.csv: columns "id"; 3 rows\n1 of 3 documents rendered, 2 already existed\.\n/,
    );
  });

  it("with 503 is tried once more at the end", async () => {
    let renders = 0;
    const { stderr, exitCode, data } = await renderEach("p.jsonl", '{"id":1}\n{"id":2}\n{"id":3}\n', {
      output: "{id}.pdf",
      answer: (response) => (++renders === 1 ? reject(serviceUnavailable("draining")) : sendPdf)(response),
    });
    expect(stderr).toBe("3 of 3 documents rendered.\n");
    expect(data).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }, { id: 1 }]);
    expect(exitCode).toBe(0);
  });

  it("with 503 is not tried again if the service answers nothing else: the run stops after ten", async () => {
    const rows = Array.from({ length: 40 }, (_, id) => JSON.stringify({ id })).join("\n");
    const { stderr, exitCode, data } = await renderEach("p.jsonl", rows, {
      output: "{id}.pdf",
      answer: reject(serviceUnavailable("draining")),
    });
    expect(stderr).toContain("The service answered the first 10 documents with 503, so the rest were not sent.");
    expect(stderr).toContain("0 of 40 documents rendered, 40 not rendered.\nRun the same command again to continue.");
    expect(data).toHaveLength(10);
    expect(exitCode).toBe(6);
  });

  it("for a reason of several lines has each on its own", async () => {
    const args = ["--e-invoice", "factur-x"];
    const { stderr, exitCode } = await renderEach("p.jsonl", '{"id":1}', { output: "{id}.pdf", args });
    expect(stderr).toMatch(/^line 1, 1\.pdf: The document cannot become an e-invoice, .*:\n {2}[a-z-]+: .*\n0 of 1 /m);
    expect(stderr).not.toContain("u000a");
    expect(exitCode).toBe(8);
  });

  it("because of --timeout is one failure, and the other documents are made", async () => {
    const timeout = makeTimeout();
    const { stderr, exitCode } = await renderEach("p.jsonl", '{"id":1}\n{"id":2}\n', {
      output: "{id}.pdf",
      args: timeout.args,
      answer: (response, count) => (count > 1 ? sendPdf(response) : timeout.pass()),
    });
    expect(stderr).toContain("line 1, 1.pdf: there was no answer within 3600 s (--timeout).");
    expect(stderr).toContain("1 of 2 documents rendered, 1 failed.");
    expect(exitCode).toBe(8);
  });
});
