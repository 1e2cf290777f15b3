/** What a project sends: the rows of what-is-sent.txt, and what needs a service or rights of files. */
import { readFileSync } from "node:fs";
import { chmod, chown, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { collectProject } from "../../../../clients/command-line/project/project.ts";
import { capabilitiesOf } from "../../../../protocol/capabilities.ts";
import { DEFAULT_LIMITS } from "../../../../rules/limits.ts";
import { problem } from "../../../../rules/problem.ts";
import {
  commandEnvironment,
  makeProject,
  makeTimeout,
  PROGRAM,
  type ProjectFiles,
  runCommand,
  startWatching,
  writeProject,
} from "../../../support/clients/command-line.ts";
import { answer, reject, sendPdf, startScriptedService, WHOLE_PDF } from "../../../support/clients/scripted-service.ts";
import { contentOf, expectRow, keysOf, LETTER, readTable } from "../../../support/clients/table-of-runs.ts";
import { characterTable, liberation, nameTable, withTables } from "../../../support/fonts.ts";
import { readPdf } from "../../../support/readers/pdf-reader.ts";
import { sharedService } from "../../../support/service/test-service.ts";

const manifest = (name: string) => `[package]\nname = "${name}"\nversion = "1.0.0"\nentrypoint = "lib.typ"\n`;
const numbered = (count: number, name: (index: number) => string, text: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), text]));

/** With the one character U+5C71. */
const mountain = withTables(await liberation("Regular"), {
  name: nameTable("Mountain"),
  cmap: characterTable([0x5c71, 0x5c71]),
});

/** What is too large for the table, or is no text. */
const MADE_TREES: Readonly<Record<string, ProjectFiles>> = {
  LANGUAGES: numbered(300, (index) => `${LETTER}/languages/l${index}.toml`, ""),
  PARTS: {
    ...numbered(64, (index) => `${LETTER}/parts/${index}.typ`, ""),
    [`${LETTER}/lib.typ`]: `#import "@preview/words:1.0.0"${Array.from({ length: 64 }, (_, index) => `\n#import "parts/${index}.typ"`).join("")}`,
  },
  MOUNTAIN: { "fonts/m.ttf": mountain, "lib/m.ttf": mountain },
  SEVENTY: numbered(70, (index) => `t/old/${index}.txt`, "x"),
  SIX: numbered(6, (index) => `t/${"abcdef"[index]}.txt`, "x".repeat(1000)),
  LARGE: { "t/f.txt": "x".repeat(DEFAULT_LIMITS.max_inline_file_bytes + 1) },
  TOO_LARGE: { "t/a.bin": new Uint8Array(64 * 1024 ** 2 + 1) },
  TEN_WOFF: { ...numbered(10, (index) => `t/z${index}.woff`, "wOFF"), "t/a.csv": Buffer.from("Gr\xfc\xdfe", "latin1") },
};

const { rows, filesOf } = readTable(readFileSync(new URL("what-is-sent.txt", import.meta.url), "utf8"), MADE_TREES);

it.each(rows)("$title: $args", expectRow);

it("of computed paths, a folder with too many files is not searched, but that of the source; if that has too many, none", async () => {
  const files = numbered(9, (index) => `p/many/${index}`, "");
  const reads = '#import "../lib.typ"\n#read(str("x") + ".txt")';
  const folder = await makeProject({ ...files, "p/lib.typ": "", "p/d/x.txt": "x", "p/d/a.typ": reads });
  const collect = (maxSearched: number) => {
    const use = { command: "render", leaveOut: [], data: [], maxSearched } as const;
    const project = collectProject(join(folder, "p/d/a.typ"), { root: join(folder, "p") }, use);
    return [project.files.map(({ key }) => key), project.notes];
  };
  expect(collect(9)).toEqual([["d/x.txt", "lib.typ"], []]);
  expect(collect(1)).toEqual([
    ["lib.typ"],
    [expect.stringMatching(/ has so many files that it was not searched for those/)],
  ]);
});

it.skipIf(process.getuid?.() !== 0)("the root is never found in a folder of another user", async () => {
  const folder = await makeProject({ "p/doc/a.typ": '#import "../lib.typ": x', "p/lib.typ": "", "p/typst.toml": "" });
  await chown(join(folder, "p"), 12345, 12345);
  expect((await runCommand(folder, ["render", "p/doc/a.typ", "--dry-run"])).stdout).not.toContain("lib.typ\n");
});

it("an ignore file that cannot be used ends no search of folders that nobody has named", async () => {
  const tooLarge = "#".repeat(1024 ** 2 + 1);
  const folder = await makeProject({ "letter.typ": '#set text(font: "Some Font")', "other/.gitignore": tooLarge });
  expect((await runCommand(folder, ["render", "letter.typ", "--dry-run"])).exitCode).toBe(0);
  expect((await runCommand(folder, ["render", ".", "--dry-run"])).exitCode).toBe(2);
});

describe("a folder that may not be read", () => {
  /** Runs as a user whom rights of files bind. The superuser is one without its capabilities. */
  async function runBound(folder: string, args: readonly string[]) {
    const unbind = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-all"] : [];
    const [file = "", ...rest] = [...unbind, process.execPath, PROGRAM, ...args];
    return execa(file, rest, { cwd: folder, env: commandEnvironment(folder), extendEnv: false, reject: false });
  }

  it.each([
    [["a/main.typ", "--files", "c"], 0, { stderr: "", stdout: expect.stringContaining("c/d.txt") }],
    [["a"], 2, { stderr: expect.stringMatching(/^closed cannot be read \(EACCES: permission denied/) }],
    [["own.typ"], 0, { stdout: expect.stringContaining("closed is not sent: it cannot be read.") }],
    [["part.typ"], 0, { stdout: expect.stringContaining("closed/x.typ is not sent: it cannot be read.") }],
  ])("%j", async (args, exitCode, said) => {
    const folder = await makeProject({
      "a/main.typ": "#let shown() = read(data.text)\n",
      "a/c/d.txt": "d",
      "a/closed/b.txt": "b",
      "own.typ": '#import "@local/own:1.0.0"',
      ".local/share/typst/packages/local/own/1.0.0/typst.toml": manifest("own"),
      ".local/share/typst/packages/local/own/1.0.0/lib.typ": "#let f(path) = read(path)",
      ".local/share/typst/packages/local/own/1.0.0/closed/x.txt": "x",
      "part.typ": '#import "@local/part:1.0.0"',
      ".local/share/typst/packages/local/part/1.0.0/typst.toml": manifest("part"),
      ".local/share/typst/packages/local/part/1.0.0/lib.typ": '#import "closed/x.typ"',
      ".local/share/typst/packages/local/part/1.0.0/closed/x.typ": "",
    });
    const packages = ".local/share/typst/packages/local";
    for (const place of ["a/closed", `${packages}/own/1.0.0/closed`, `${packages}/part/1.0.0/closed`]) {
      await chmod(join(folder, place), 0o000);
      onTestFinished(() => chmod(join(folder, place), 0o700));
    }
    expect(await runBound(folder, ["render", ...args, "--dry-run"])).toMatchObject({ exitCode, ...said });
  });
});

/** A service that has packages, or is older than packages in requests. */
async function startServiceWith(packages: readonly string[], isOlder = false, namespace = "preview") {
  const specs = packages.map((name) => ({ namespace, name, version: "1.0.0" }));
  const { packages_in_files, ...older } = capabilitiesOf("0.15.1", [], specs);
  const document = JSON.stringify(isOlder ? older : { ...older, packages_in_files });
  const capabilities = answer(200, { "Content-Type": "application/json", ETag: '"of-a-test"' }, document);
  const service = await startScriptedService(sendPdf, undefined, capabilities);
  const sent = () => service.bodies.map(({ files }) => Object.keys(files).join(" "));
  return { service, sent };
}

describe("with what the service has,", () => {
  const OF_USER = keysOf("packages/local/letter/1.0.0/{end.txt,lib.typ,src/more.typ,typst.toml}");

  it("a downloaded package is not sent, the user's own is, and --dry-run knows it from the last time", async () => {
    const { service, sent } = await startServiceWith(["words"]);
    const folder = await makeProject(filesOf("PACKAGES"));
    const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
    expect((await run("render", "letter.typ")).exitCode).toBe(0);
    expect(sent()).toEqual([OF_USER]);
    const { stdout } = await run("render", "letter.typ", "--dry-run");
    expect(stdout).toContain("Package @preview/words:1.0.0 is not sent, because the service has it.");
    expect(stdout).toContain(`Package @local/letter:1.0.0 from ${join(folder, LETTER)}: 4 files, `);
    expect(stdout).not.toContain("packages/preview/words");
    expect((await run("check", "letter.typ")).exitCode).toBe(0);
  });

  it("a package that Typst has not downloaded is sent, wherever it is", async () => {
    const { service, sent } = await startServiceWith(["words"], false, "local");
    const folder = await makeProject({
      "letter.typ": '#import "@local/words:1.0.0": word\n#word',
      ".cache/typst/packages/local/words/1.0.0/typst.toml": manifest("words"),
      ".cache/typst/packages/local/words/1.0.0/lib.typ": '#let word = "mine"',
    });
    await runCommand(folder, ["render", "letter.typ"], { env: { SERVICE_URL: service.url } });
    expect(sent()).toEqual([keysOf("packages/local/words/1.0.0/{lib.typ,typst.toml}")]);
  });

  it("an older service is sent no packages, and a warning says so; --strict sends nothing", async () => {
    const { service, sent } = await startServiceWith(["words"], true);
    const folder = await makeProject(filesOf("PACKAGES"));
    const run = (...more: string[]) =>
      runCommand(folder, ["render", "letter.typ", ...more], { env: { SERVICE_URL: service.url } });
    const { stderr } = await run();
    expect(stderr).toContain(
      "warning: The service does not have @local/letter:1.0.0, and is too old to take packages in requests",
    );
    expect(stderr).not.toContain("@preview/words");
    expect((await run("--strict")).exitCode).toBe(4);
    expect(sent()).toEqual([""]);
  });
});

describe("a package of this machine", async () => {
  const { edge } = await sharedService();
  const env = { SERVICE_URL: edge.url.origin };

  it("is sent with what it imports, and the document is made with it", async () => {
    const folder = await makeProject(filesOf("PACKAGES"));
    expect(await runCommand(folder, ["render", "letter.typ"], { env })).toMatchObject({ exitCode: 0 });
    expect((await readPdf(await readFile(join(folder, "letter.pdf")))).pageTexts).toEqual(["packed!"]);
  });

  it.each([
    ["check letter.typ --strict"],
    ["test letter.typ --update"],
    ["test letter.typ --update --url"],
    ["check letter.typ --each rows.jsonl"],
    ["render letter.typ --each rows.jsonl -o out/{id}.pdf"],
  ])("is used by %s in the same way", async (command) => {
    const letter = `${filesOf("PACKAGES")["letter.typ"]}\n#data`;
    const more = { "letter.typ": letter, "rows.jsonl": '{"id":"a"}\n{"id":"b"}\n', "cases/one.json": "{}" };
    const folder = await makeProject({ ...filesOf("PACKAGES"), ...more });
    const args = command.replace("--url", `--url ${env.SERVICE_URL}`).split(" ");
    expect(await runCommand(folder, args, { env })).toMatchObject({ exitCode: 0 });
  });

  it("is checked again with --watch when it changes", async () => {
    const folder = await makeProject({ ...filesOf("PACKAGES"), "p/a.typ": '#import "@local/letter:1.0.0": greeting' });
    const watch = await startWatching(folder, ["check", "p/a.typ"]);
    await writeProject(folder, { [`${LETTER}/lib.typ`]: "#let other = 1" });
    await expect.poll(() => watch.seen).toContain("unresolved import");
  });
});

it("a project without packages does not wait for what the service has", async () => {
  let isGivenUp = false;
  const silent = await startScriptedService(sendPdf, undefined, (response) => {
    response.once("close", () => {
      isGivenUp = true;
    });
  });
  const folder = await makeProject({ "letter.typ": "x" });
  const timeout = makeTimeout();
  const running = runCommand(folder, ["render", "letter.typ", ...timeout.args], { env: { SERVICE_URL: silent.url } });
  await expect.poll(() => silent.bodies.length).toBe(1);
  expect(isGivenUp).toBe(false);
  timeout.pass();
  await running;
});

it("a package that is nowhere is named with who imports it and what to do, and --strict sends nothing", async () => {
  const { service } = await startServiceWith([]);
  const folder = await makeProject({ "a.typ": '#import "b.typ"', "b.typ": '#import "@preview/of-nobody:0.1.0": t' });
  const run = (...more: string[]) =>
    runCommand(folder, ["render", "a.typ", ...more], { env: { SERVICE_URL: service.url } });
  const missing =
    "Neither this machine nor the service has @preview/of-nobody:0.1.0, which b.typ:1 imports. Compile once";
  expect(await run("--strict")).toMatchObject({ exitCode: 4, stderr: expect.stringContaining(missing) });
  expect(service.bodies).toEqual([]);
  expect((await run()).stderr).toContain(`warning: ${missing}`);
});

it("what was planned is what is sent, in a body of the same size, and a plan needs no token", async () => {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject({
    ...filesOf("READS_ANY"),
    "t/data.json": "{}",
    "t/a.bin": new Uint8Array([0, 255]),
  });
  const run = (token: string, ...args: string[]) =>
    runCommand(folder, ["render", "t", ...args], { env: { SERVICE_URL: service.url, SERVICE_API_TOKEN: token } });
  const plan = await run("", "--dry-run");
  expect(plan.stdout).toMatch(/source {2}text +54 bytes {2}t\/main\.typ\n.*data +json +2 bytes {2}t\/data\.json\n/s);
  expect(plan.stdout).toMatch(/file +base64 +2 bytes {2}a\.bin\nBody: [0-9]+ bytes\nOutput: .*, to t\.pdf\n/);
  expect(service.requests).toHaveLength(0);
  const { bodyBytes } = JSON.parse((await run("", "--dry-run", "--json")).stdout);
  await run("x");
  const sent = service.requests.find(({ url }) => url === "/v1/render");
  expect(sent?.headers["content-length"]).toBe(String(bodyBytes));
});

it("a source below no other file is sent as it is", async () => {
  const service = await startScriptedService(sendPdf);
  const files = { "p/typst.toml": "", "p/doc/a.typ": '#import "b.typ": x', "p/doc/b.typ": "#let x = 1" };
  const { stderr } = await runCommand(await makeProject(files), ["render", "p/doc/a.typ"], {
    env: { SERVICE_URL: service.url },
  });
  expect(stderr).not.toContain("note");
  expect(service.bodies).toEqual([
    {
      source: '#import "b.typ": x',
      files: { "b.typ": { encoding: "text", content: "#let x = 1" } },
      output: { format: "pdf" },
    },
  ]);
});

async function begin(files: ProjectFiles, respond: Parameters<typeof startScriptedService>[0] = sendPdf) {
  const service = await startScriptedService(respond);
  const folder = await makeProject(files);
  const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  return { service, folder, run };
}

it("what Typst has made is not sent, whatever its standard, its size or its place", async () => {
  const { folder, run } = await begin({ ...filesOf("READS_ANY"), "t/note.txt": "note", "a.typ": "x" });
  for (const [name, ...standard] of [["one.pdf"], ["deep/two.svg"], ["three.pdf", "--standards", "a-2b"]]) {
    expect((await run("check", "a.typ", "-o", `t/${name}`, ...standard)).exitCode).toBe(0);
  }
  const large = [await readFile(join(folder, "t/one.pdf")), Buffer.alloc(40 * 1024 ** 2)];
  await writeProject(folder, { "t/copy of one.pdf": Buffer.concat(large) });
  const { stdout } = await run("render", "t", "--dry-run", "--json");
  const leftOut = ["copy of one.pdf", "one.pdf", "three.pdf", "deep/two.svg"];
  expect(JSON.parse(stdout)).toMatchObject({ leftOut, files: [{}, { path: "note.txt" }] });
});

it("fonts that are not sent are counted, and so are equal errors of a request", async () => {
  const names = ["a b.png", "a c.png", "a d.png"].map((name) => [`images/${name}`, "x"]);
  const fonts = [1, 2, 3].map((number) => [`fonts/${number}.ttf`, contentOf(`FONT Own ${number}`)]);
  const { run } = await begin({ "a.typ": "x", ...Object.fromEntries([...names, ...fonts]) });
  expect((await run("render", "a.typ", "--dry-run")).stdout).toContain(
    "Left out, because no source names their family or needs their characters: fonts/1.ttf and 2 more fonts. --files sends them.",
  );
  const { stderr } = await run("check", "a.typ", "--files", "images");
  const lines = stderr.split("\n").filter((line) => /^ {2}files: a key must not contain spaces/.test(line));
  expect(lines).toEqual([expect.stringMatching(/\(3 times\)$/)]);
});

it("a document is named after the folder or the source that it is made from", async () => {
  const { folder, run } = await begin({ "letter/main.typ": "x", "other.typ": "x" });
  expect((await run("render", "letter/")).stderr).toMatch(/^letter\.pdf: /);
  expect((await run("render", "other.typ", "--format", "svg", "--archive")).stderr).toMatch(/^other\.zip: /);
  expect(await readFile(join(folder, "letter.pdf"), "utf8")).toBe(WHOLE_PDF);
});

it("data.json is the data of main.typ; beside another source that reads data, a note says that it is not", async () => {
  const { service, run } = await begin({
    "post/main.typ": "#data",
    "post/a.typ": "#data.a",
    "post/b.typ": "x",
    "post/data.json": '{"a": 1}',
  });
  const noteOf = async (...args: string[]) =>
    (await run("render", ...args)).stderr.replace(/^[ab]\.pdf.*\n$|^post.*\n$/, "");
  expect(await noteOf("post")).toBe("");
  expect(await noteOf("post/a.typ")).toContain(
    "note: post/data.json is not used, because the source is not main.typ: to use it, add",
  );
  expect(await noteOf("post/b.typ")).not.toContain("note");
  expect(await noteOf("post/a.typ", "--data", "post/data.json")).not.toContain("note");
  expect(service.bodies.map(({ data }) => data)).toEqual([{ a: 1 }, undefined, undefined, { a: 1 }]);
});

it("a byte order mark of source and data is named and not sent; that of UTF-16 is a mistake", async () => {
  const { service, run } = await begin({
    "main.typ": "\ufeff= x",
    "data.json": '\ufeff{"a": 1}',
    "wide.typ": Buffer.from("\ufeff= x", "utf16le"),
    "wide.json": Buffer.from("\ufeff{}", "utf16le"),
  });
  const { stderr } = await run("render", "main.typ");
  expect(stderr).toContain("note: main.typ begins with a byte order mark, which is not sent.");
  expect(stderr).toContain("note: data.json begins with a byte order mark, which is not sent.");
  expect(service.bodies).toMatchObject([{ source: "= x", data: { a: 1 } }]);
  const message = " begins with the byte order mark of UTF-16: save it as UTF-8.\n";
  expect((await run("render", "wide.typ")).stderr).toBe(`wide.typ${message}`);
  expect((await run("render", "main.typ", "-d", "wide.json")).stderr).toContain(`wide.json${message}`);
});

it("a request that the service finds too large is named with its size, the limit and the largest files", async () => {
  const tooLarge = reject(problem("request_too_large", "Too large.", { limit: 2048 }));
  const { run } = await begin({ ...filesOf("READS_ANY"), ...filesOf("SIX") }, tooLarge);
  const { stderr, exitCode } = await run("render", "t");
  expect(stderr).toMatch(/The request has 6\.[0-9] KiB \(6,[0-9]{3} bytes\); the limit is 2\.0 KiB \(2,048 bytes\)\./);
  expect(stderr).toMatch(/Its largest parts:\n(?: {4}[a-e]\.txt: 1000 bytes.*\n){5}(?! {4})/);
  expect(exitCode).toBe(3);
});

it("a template that the service cannot compile is told that names are all that is known of computed paths", async () => {
  const failed = problem("template_compile_failed", "It does not compile.", {});
  const { run } = await begin({ "a.typ": '#read("n-" + str(1))', "b.typ": "#oops()" }, reject(failed));
  expect((await run("render", "a.typ")).stderr).toContain(
    "Files whose names are neither in it nor in the data are not",
  );
  expect((await run("render", "b.typ")).stderr).not.toContain("paths");
});
