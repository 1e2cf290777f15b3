/** What Typst receives of a request. The documents check it by assertions, so a wrong value gives a 422. */
import { describe, expect, it } from "vitest";
import { KEY_RULES } from "../../../rules/files-rules.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { binaryFile, textFile } from "../../support/backend/request-files.ts";
import { startSharedBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";

const backend = await startSharedBackend();

/** Expects that every assertion of the source holds for data of this JSON text. */
async function expectData(json: string, ...assertions: readonly string[]): Promise<void> {
  const source = assertions.map((assertion) => `#assert(${assertion})`).join("\n");
  await backend.renderFile(`{"source":${JSON.stringify(source)},"data":${json}}`);
}

describe("data", () => {
  it("fails these tests if it is wrong", async () => {
    await expectProblem(await backend.render({ source: "#assert(data == 1)", data: 2 }), "template_compile_failed");
  });

  it("is an empty dictionary if it is absent", () =>
    backend.renderFile({ source: "#assert(type(data) == dictionary)\n#assert(data == (:))" }));

  it("is the same value under both of its names", () => expectData('{"a":[1,{"b":null}]}', "data == request"));

  it.each([
    ["null", "data == none"],
    ['""', 'data == ""'],
    ["false", "data == false"],
    ['[1,"a",null,[true]]', 'data == (1, "a", none, (true,))'],
    ['{"":1,"with blank":2}', 'data.at("") == 1', 'data.at("with blank") == 2'],
    ['{"b":1,"a":2}', 'data.keys() == ("b", "a")'],
    ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', 'data == "\\"\\\\/\\u{8}\\u{c}\\n\\r\\t"'],
    ['"é📄 العربية"', 'data == "é📄 العربية"'],
    ['"#panic() $x$ */ //"', "data.len() == 18"],
    ['"\\u0000"', 'data == "\\u{0}"'],
  ])("keeps its structure and its texts: %s", (json, ...assertions) => expectData(json, ...assertions));

  it.each([
    ["int", "9007199254740993", "data == 9007199254740993"],
    ["int", "-9223372036854775808", "data == -9223372036854775807 - 1"],
    ["float", "1.0", "data == 1.0"],
    ["float", "-0.0", "data == 0.0"],
    ["float", "1.7976931348623157e308", "data > 1e308"],
    ["float", "9223372036854775808", "data > 9.2e18"],
  ])("keeps the %s %s to its last digit", (type, json, assertion) =>
    expectData(json, `type(data) == ${type}`, assertion),
  );

  it("may be nested 127 deep", () =>
    expectData(`${"[".repeat(127)}${"]".repeat(127)}`, "type(data) == array", "data.len() == 1"));

  it("is not evaluated as code", () =>
    expectData('{"x":"#panic(\\"no\\")"}', 'eval("1 + 1") == 2', "data.x.len() == 12"));
});

describe("the source", () => {
  const ASSERTION = "#assert(data.x == 1)\nbody";
  const data = { x: 1 };

  it.each([
    ["begins with a #! line", `#!/usr/bin/env typst\n${ASSERTION}`],
    ["begins with a #! line that ends as on Windows", `#!/usr/bin/env typst\r\n${ASSERTION}`],
    ["begins with a byte order mark", `\ufeff${ASSERTION}`],
    ["begins with a byte order mark and a #! line", `\ufeff#!/usr/bin/env typst\n${ASSERTION}`],
    ["has lines that end as on Windows", ASSERTION.replaceAll("\n", "\r\n")],
    ...["\r", "\v", "\f", "\u0085", "\u2028", "\u2029"].map((end) => [
      `begins with a #! line that ends in ${JSON.stringify(end)}`,
      `#!/usr/bin/env typst${end}${ASSERTION}`,
    ]),
  ])("may be one that %s", async (_what, source) => {
    expect((await readPdf(await backend.renderFile({ source, data }))).pageTexts).toEqual(["body"]);
  });

  it.each(["#!/usr/bin/env typst", "\ufeff", "\ufeff#!", " ", "\n"])(
    "may have no visible content: %j",
    async (source) => {
      expect((await readPdf(await backend.renderFile({ source }))).pageTexts).toEqual([""]);
    },
  );

  it("may begin with a page rule without an empty page before it", async () => {
    const pdf = await readPdf(
      await backend.renderFile({ source: '#set page(width: 50pt, height: 40pt)\n#set text(lang: "de")' }),
    );
    expect(pdf.pageSizes).toEqual([[50, 40]]);
  });
});

describe("files", () => {
  it("may be named main.typ or any other usual name of a source", async () => {
    const files = {
      "main.typ": textFile("#let x = 1"),
      "source.typ": textFile("#let y = 2"),
      "data.json": textFile("[3]"),
    };
    const source =
      '#import "main.typ": x\n#import "source.typ": y\n#assert((x, y) == (1, 2))\n#assert(json("data.json") == (3,))';
    await backend.renderFile({ source, files });
  });

  it("are found in folders by the source and by each other", async () => {
    const files = {
      "lib/a.typ": textFile('#import "sub/b.typ": b\n#let a = "a" + b'),
      "lib/sub/b.typ": textFile('#let b = read("../../texts/c.txt") + read("/texts/c.txt")'),
      "texts/c.txt": textFile("c"),
      "chapters/one.typ": textFile("Chapter one"),
    };
    const source = '#import "lib/a.typ": a\n#assert(a == "acc")\n#include "chapters/one.typ"';
    expect((await readPdf(await backend.renderFile({ source, files }))).pageTexts).toEqual(["Chapter one"]);
  });

  it("do not see data unless it is passed to them", async () => {
    const files = { "lib.typ": textFile("#let x = data") };
    const answer = await backend.render({ source: '#import "lib.typ"', files, data: 1 });
    await expectProblem(answer, "template_compile_failed");
  });

  it("may contain every byte value in Base64, text with escapes and beyond ASCII, or nothing", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const source = `#assert(array(read("all.bin", encoding: none)) == range(256))
#assert(read("x.txt") == "é\\n\\"📄")
#for name in ("a", "b") { assert(read(name) == "") }`;
    const files = { "all.bin": binaryFile(bytes), a: textFile(""), b: binaryFile(new Uint8Array()) };
    const escaped = '"x.txt":{"encoding":"text","content":"\\u00e9\\n\\"\\ud83d\\udcc4"}';
    await backend.renderFile(JSON.stringify({ source, files }).replace('"files":{', `"files":{${escaped},`));
  });

  it("may be as many as the limit", async () => {
    const names = Array.from({ length: DEFAULT_LIMITS.max_inline_files }, (_, index) => `dir-${index}/file.txt`);
    const files = Object.fromEntries(names.map((name) => [name, textFile(name)]));
    const source = `#for name in ${JSON.stringify(names).replace("[", "(").replace("]", ")")} { assert(read(name) == name) }`;
    await backend.renderFile({ source, files });
  });

  it("with a key of maximum length and depth are written, read and removed", async () => {
    const key = "a/"
      .repeat(KEY_RULES.max_key_length)
      .slice(0, KEY_RULES.max_key_length - 1)
      .replace(/\/$/, "");
    expect(key).toHaveLength(KEY_RULES.max_key_length - 1);
    await backend.renderFile({ source: `#assert(read("${key}") == "x")`, files: { [key]: textFile("x") } });
    await expect.poll(() => backend.projects()).toEqual([]);
  });

  it("may have names that look like options, drafts or hidden files", async () => {
    const files = {
      "-": textFile("a"),
      "--root": textFile("b"),
      ".hidden": textFile("c"),
      "a..b": textFile("d"),
      CON: textFile("e"),
    };
    const source = '#assert(("-", "--root", ".hidden", "a..b", "CON").map(read) == ("a", "b", "c", "d", "e"))';
    await backend.renderFile({ source, files });
  });
});

describe("what a document can reach", () => {
  it("does not include inputs from the command line", async () => {
    await backend.renderFile({ source: "#assert(sys.inputs == (:))" });
  });

  it("includes the date of today in UTC", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const pdf = await readPdf(await backend.renderFile({ source: "#datetime.today().display()" }));
    const later = new Date().toISOString().slice(0, 10);
    expect([today, later]).toContain(pdf.pageTexts[0]);
  });
});
