/**
 * What `render` sends, and what it says about it: never its own documents, and every name and size that is wrong at
 * once.
 */
import { chmod, cp, readFile, rename, symlink } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { DEFAULT_LIMITS } from "../../../../rules/limits.ts";
import { problem } from "../../../../rules/problem.ts";
import {
  commandEnvironment,
  makeProject,
  PROGRAM,
  type ProjectFiles,
  runCommand,
  writeProject,
} from "../../../support/clients/command-line.ts";
import {
  reject,
  type ScriptedService,
  sendPdf,
  startScriptedService,
  WHOLE_PDF,
} from "../../../support/clients/scripted-service.ts";

async function begin(files: ProjectFiles, answer: Parameters<typeof startScriptedService>[0] = sendPdf) {
  const service = await startScriptedService(answer);
  const folder = await makeProject(files);
  const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  return { service, folder, run };
}

/** A template that may read any file. */
const READS_ANY = "#let shown() = (image(data.picture), read(data.text))\n";

const sentFiles = ({ bodies }: ScriptedService) => bodies.map(({ files }) => Object.keys(files));

describe("a folder does not send what Typst has made", () => {
  const LETTER = { "letter/main.typ": READS_ANY, "letter/note.txt": "note" };
  const RENDERED = ["one.pdf", "deep/two.svg", "three.pdf"];

  async function beginWithOutputs() {
    const begun = await begin(LETTER);
    const source = { "a.typ": "x" };
    await writeProject(begun.folder, source);
    for (const name of RENDERED) {
      const standard = name.startsWith("three") ? ["--standards", "a-2b"] : [];
      const made = await begun.run("check", "a.typ", "-o", `letter/${name}`, ...standard);
      expect(made.exitCode).toBe(0);
    }
    return begun;
  }

  it("by its computed paths or by a glob, wherever it has been moved; and a note says so", async () => {
    const { service, folder, run } = await beginWithOutputs();
    await rename(join(folder, "letter"), join(folder, "post"));
    await cp(join(folder, "post/one.pdf"), join(folder, "post/copy of one.pdf"));
    const { stderr, exitCode } = await run("render", "post");
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("note: Left out, because Typst has made it, ")]);
    await run("render", "post", "--files", ".");
    expect(sentFiles(service)).toEqual([["note.txt"], ["note.txt"]]);
    expect(JSON.parse((await run("render", "post", "--dry-run", "--json")).stdout)).toMatchObject({
      leftOut: ["copy of one.pdf", "one.pdf", "three.pdf", "deep/two.svg"],
    });
  });

  it("even if it is more than any service accepts", async () => {
    const { service, folder, run } = await beginWithOutputs();
    const bytes = Buffer.concat([await readFile(join(folder, "letter/one.pdf")), Buffer.alloc(40 * 1024 ** 2)]);
    await writeProject(folder, { "letter/one.pdf": bytes, "letter/two.pdf": bytes });
    expect((await run("render", "letter")).exitCode).toBe(0);
    expect(sentFiles(service)).toEqual([["note.txt"]]);
  });

  it("but sends what others have made, what --files names exactly, and what the source or the data names", async () => {
    const { service, folder, run } = await beginWithOutputs();
    await run("render", "letter", "--files", "one.pdf");
    await writeProject(folder, { "letter/main.typ": `${READS_ANY}#image("one.pdf")`, "letter/own.pdf": "%PDF-1.4" });
    await run("render", "letter");
    await writeProject(folder, { "letter/main.typ": READS_ANY, "letter/data.json": '{"picture": "three.pdf"}' });
    await run("render", "letter");
    expect(sentFiles(service)).toEqual([
      ["note.txt", "one.pdf"],
      ["note.txt", "one.pdf", "own.pdf"],
      ["note.txt", "own.pdf", "three.pdf"],
    ]);
  });
});

it("a document is named after the folder or the source that it is made from", async () => {
  const { folder, run } = await begin({ "letter/main.typ": "x", "other.typ": "x" });
  expect((await run("render", "letter/")).stderr).toMatch(/^letter\.pdf: /);
  expect((await run("render", "other.typ", "--format", "svg", "--archive")).stderr).toMatch(/^other\.zip: /);
  expect(await readFile(join(folder, "letter.pdf"), "utf8")).toBe(WHOLE_PDF);
});

describe("data.json", () => {
  it.each(["letter", "letter/main.typ"])("is the data of %s", async (source) => {
    const { service, run } = await begin({ "letter/main.typ": "#data", "letter/data.json": '{"a": 1}' });
    await run("render", source);
    expect(service.bodies).toMatchObject([{ data: { a: 1 }, files: {} }]);
  });

  it("beside a source other than main.typ that reads data is not used, and a note says so", async () => {
    const { service, run } = await begin({ "post/a.typ": "#data.a", "post/data.json": "{}", "post/b.typ": "x" });
    const { stderr } = await run("render", "post/a.typ");
    expect(stderr).toContain("note: post/data.json is not used, because the source is not main.typ: to use it, add");
    expect((await run("render", "post/b.typ")).stderr).not.toContain("note");
    expect((await run("render", "post/a.typ", "--data", "post/data.json")).stderr).not.toContain("note");
    expect(service.bodies.map(({ data }) => data)).toEqual([undefined, undefined, {}]);
  });
});

describe("a byte order mark", () => {
  it("of source and data is named and not sent", async () => {
    const { service, run } = await begin({ "main.typ": "\ufeff= x", "data.json": '\ufeff{"a": 1}' });
    const { stderr } = await run("render", "main.typ");
    expect(stderr).toContain("note: main.typ begins with a byte order mark, which is not sent.");
    expect(stderr).toContain("note: data.json begins with a byte order mark, which is not sent.");
    expect(service.bodies).toMatchObject([{ source: "= x", data: { a: 1 } }]);
  });

  it("of UTF-16 is reported as the mistake", async () => {
    const { run } = await begin({
      "a.typ": Buffer.from("\ufeff= x", "utf16le"),
      "b.typ": "x",
      "d.json": Buffer.from("\ufeff{}", "utf16le"),
    });
    expect((await run("render", "a.typ")).stderr).toBe(
      "a.typ begins with the byte order mark of UTF-16: save it as UTF-8.\n",
    );
    expect((await run("render", "b.typ", "-d", "d.json")).stderr).toContain("d.json begins with the byte order mark");
  });
});

it("names the files that Typst cannot use, of many the first ten", async () => {
  const many = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`post/z${index}.woff`, "wOFF"]));
  const { run } = await begin({
    "post/main.typ": READS_ANY,
    "post/a.csv": Buffer.from("Gr\xfc\xdfe", "latin1"),
    ...many,
  });
  const { stderr } = await run("render", "post");
  expect(stderr).toContain("note: a.csv is not UTF-8: save it as UTF-8.\n");
  expect(stderr).toContain(
    "note: z8.woff is WOFF, which Typst does not read. Convert it to TTF or OTF: fonttools ttLib z8.woff -o z8.ttf\n",
  );
  expect(stderr).toContain("note: Typst cannot use 1 more file.\n");
});

it("links within the folder are sent as the files that they lead to, and those that lead out are not", async () => {
  const files = { "a/main.typ": '#let n = str("b")\n#read(n + ".txt")', "a/sub/real.txt": "B", "secret.txt": "x" };
  const { service, folder, run } = await begin(files);
  const links = { "b.txt": "sub/real.txt", "out.txt": "../secret.txt", "gone.txt": "nothing", folder: "sub" };
  for (const [place, target] of Object.entries(links)) await symlink(target, join(folder, "a", place));
  expect((await run("render", "a")).exitCode).toBe(0);
  expect((await run("render", "a/main.typ", "--files", "b.txt")).exitCode).toBe(0);
  expect((await run("render", "a/main.typ", "--files", "*.txt")).exitCode).toBe(0);
  expect(sentFiles(service)).toEqual([["b.txt", "sub/real.txt"], ["b.txt"], ["b.txt"]]);
  const named = async (name: string) => (await run("render", "a/main.typ", "--files", name)).stderr;
  expect(await named("out.txt")).toMatch(/^out\.txt is not sent: a link leads out of the folder/);
  expect(await named("gone.txt")).toMatch(/^gone\.txt does not exist\./);
});

describe("a folder that may not be read", () => {
  /** Runs as a user whom rights of files bind. The superuser is one without its capabilities. */
  async function runBound(folder: string, args: readonly string[]) {
    const unbind = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-all"] : [];
    const [file = "", ...rest] = [...unbind, process.execPath, PROGRAM, ...args];
    return execa(file, rest, { cwd: folder, env: commandEnvironment(folder), extendEnv: false, reject: false });
  }

  async function withClosedFolder() {
    const { folder } = await begin({ "a/main.typ": READS_ANY, "a/closed/b.txt": "b", "a/c/d.txt": "d" });
    await chmod(join(folder, "a/closed"), 0o000);
    onTestFinished(() => chmod(join(folder, "a/closed"), 0o700));
    return folder;
  }

  it("does not concern a source beside it, nor files elsewhere", async () => {
    const folder = await withClosedFolder();
    const { stdout, stderr } = await runBound(folder, ["render", "a/main.typ", "--files", "c", "--dry-run"]);
    expect([stderr, stdout]).toEqual(["", expect.stringContaining("c/d.txt")]);
  });

  it("is named if it is sent with its parent", async () => {
    const folder = await withClosedFolder();
    const { stderr, exitCode } = await runBound(folder, ["render", "a", "--dry-run"]);
    expect(stderr).toMatch(/^closed cannot be read \(EACCES: permission denied/);
    expect(exitCode).toBe(2);
  });
});

describe("--dry-run", () => {
  const FILES = { "letter/main.typ": READS_ANY, "letter/data.json": "{}", "letter/a.bin": new Uint8Array([0, 255]) };

  it("lists path, size and encoding of what would be sent, and sends nothing", async () => {
    const { service, run } = await begin(FILES);
    const { stdout, exitCode } = await run("render", "letter", "--pages", "1", "--dry-run");
    expect(stdout).toMatch(/source {2}text +54 bytes {2}letter\/main\.typ/);
    expect(stdout).toMatch(/data +json +2 bytes {2}letter\/data\.json/);
    expect(stdout).toMatch(/file +base64 +2 bytes {2}a\.bin/);
    expect(stdout).toMatch(/Body: [0-9]+ bytes\nOutput: \{"format":"pdf","pages":"1"\}, to letter\.pdf\n/);
    expect(service.requests).toHaveLength(0);
    expect(exitCode).toBe(0);
  });

  it("shows the exact size of the body that is sent later, and needs no token", async () => {
    const { service, folder, run } = await begin(FILES);
    const options = { env: { SERVICE_URL: service.url, SERVICE_API_TOKEN: "" } };
    const planned = JSON.parse((await runCommand(folder, ["render", "letter", "--dry-run", "--json"], options)).stdout);
    await run("render", "letter");
    const sent = service.requests.find(({ url }) => url === "/v1/render");
    expect(planned).toMatchObject({ outcome: "planned", file: "letter.pdf", leftOut: [] });
    expect(String(planned.bodyBytes)).toBe(sent?.headers["content-length"]);
  });
});

describe("a request that is too large", () => {
  const sized = (names: readonly string[], bytes: number): ProjectFiles =>
    Object.fromEntries(names.map((name, index) => [`big/${name}`, "x".repeat(bytes - index)]));
  const NAMES = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"];
  const SIX = { "big/main.typ": READS_ANY, ...sized(NAMES, 1000) };

  const FIVE_LARGEST =
    /Its largest parts:\n {4}a\.txt: 1000 bytes.*\n {4}b\.txt: .*\n {4}c\.txt: .*\n {4}d\.txt: .*\n {4}e\.txt: .*\n/;

  it("is named with its size, the limit and the five largest files when the service answers 413", async () => {
    const { run } = await begin(SIX, reject(problem("request_too_large", "Too large.", { limit: 2048 })));
    const { stderr, exitCode } = await run("render", "big");
    expect(stderr).toMatch(
      /The request has 6\.[0-9] KiB \(6,[0-9]{3} bytes\); the limit is 2\.0 KiB \(2,048 bytes\)\./,
    );
    expect(stderr).toMatch(FIVE_LARGEST);
    expect(exitCode).toBe(3);
  });

  it("is named in the same way before it is sent, and so is a single file", async () => {
    const { service, run } = await begin({
      "big/main.typ": READS_ANY,
      ...sized(NAMES.slice(0, 5), DEFAULT_LIMITS.max_inline_file_bytes),
      "big/f.txt": "x".repeat(DEFAULT_LIMITS.max_inline_file_bytes + 1),
    });
    const { stderr, stdout, exitCode } = await run("render", "big", "--json");
    expect(stderr).toBe("");
    const { problem: found, details } = JSON.parse(stdout);
    expect(found.code).toBe("template_file_too_large");
    expect(details.slice(1, 3)).toEqual(
      ["Its largest parts:", "  f.txt: 1.0 MiB"].map((line) => expect.stringContaining(line)),
    );
    expect(exitCode).toBe(4);
    expect(service.bodies).toHaveLength(0);
  });

  it("is named in the same way before files are read that no service accepts", async () => {
    const { service, run } = await begin({
      "big/main.typ": READS_ANY,
      "big/a.bin": new Uint8Array(64 * 1024 ** 2 + 1),
    });
    const { stderr, exitCode } = await run("render", "big");
    expect(stderr).toMatch(/^request_too_large: the files of the project have 64\.0 MiB; no service accepts/);
    expect(stderr).toContain("a.bin: 64.0 MiB");
    expect(exitCode).toBe(3);
    expect(service.requests).toHaveLength(0);
  });
});

it("names all file names that the rules refuse at once, each with a better one", async () => {
  const { run } = await begin({
    "post/main.typ": READS_ANY,
    "post/my photo.png": "x",
    "post/größe.txt": "x",
    "post/Logo.svg": "x",
    "post/logo.SVG": "x",
    "post/fine.txt": "x",
  });
  const { stderr, exitCode } = await run("render", "post");
  expect(stderr).toContain("invalid_template_path");
  expect(stderr).toContain('"my photo.png": rename it to my-photo.png');
  expect(stderr).toContain('"größe.txt": rename it to groesse.txt');
  expect(stderr).toContain('"logo.SVG": rename it to logo-2.SVG');
  expect(stderr).not.toContain("fine.txt");
  expect(exitCode).toBe(3);
});

describe("did you mean", () => {
  it.each([
    ["u\u0308o\u0308a\u0308.svg", "\u00fc\u00f6\u00e4.svg"],
    ["Gruesse.svg", "Grüße.svg"],
  ])("finds %j for %j", async (name, read) => {
    const { run } = await begin({ "main.typ": `#image("${read}")`, [name]: "<svg/>" });
    expect((await run("check", "main.typ")).stderr).toContain(`Did you mean ${name}?`);
  });

  const FILES = { "letter/main.typ": "x", "letter.typ": "x", "data.json": "{}", "post/letter.typ": "x" };

  it.each([
    [["render", "lettr.typ"], "lettr.typ does not exist. Did you mean letter.typ?"],
    [["render", "letter.typ", "-d", "dta.json"], "dta.json does not exist. Did you mean data.json?"],
    [["render", "post"], "post/main.typ does not exist. Did you mean post/letter.typ?"],
    [["render", "letter.typ", "--files", "pst"], "pst does not exist. Did you mean "],
    [["render", "letter.typ", "--dryrun"], "Did you mean --dry-run?"],
  ])("is said for %s", async (args, words) => {
    const { run } = await begin(FILES);
    const { stderr, exitCode } = await run(...args);
    expect(stderr).toContain(words);
    expect(exitCode).toBe(2);
  });

  it("is said for a file that the source reads, in another folder or with another ending, and not for a pipe", async () => {
    const { run, folder } = await begin({
      "a.typ": '#image("logo.png")\n#image("pht.jpg")\n#read("pipe.txt")',
      "assets/logo.png": "x",
      "pht.jpeg": "x",
    });
    await execa("mkfifo", [join(folder, "pipe.txt")]);
    const { stderr } = await run("render", "a.typ");
    expect(stderr).toContain('a.typ:1 reads "logo.png", which does not exist. Did you mean assets/logo.png?');
    expect(stderr).toContain('a.typ:2 reads "pht.jpg", which does not exist. Did you mean pht.jpeg?');
    expect(stderr).toContain('a.typ:3 reads "pipe.txt", which is not a file that can be read.');
  });

  it("is not said for examples in raw text, comments and strings, nor for what only looks like those", async () => {
    const { service, run } = await begin({
      "a.typ": [
        '```typ\n#image("example.png")\n#include theme + ".typ"\n```',
        '`#image("short.png")` /* /* #image("a.png") */ #image("b.png") */ // #image("c.png")',
        '#let open = "/*"\n#let tick = "`"\n#let call(it) = "json(" + repr(it) + ")"',
        '#image("pictures//logo.png")\n#image("gone.png")',
      ].join("\n"),
      "pictures/logo.png": "x",
    });
    const { stderr } = await run("render", "a.typ");
    expect(stderr.match(/a\.typ.*/g)).toEqual(['a.typ:10 reads "gone.png", which does not exist.']);
    expect(sentFiles(service)).toEqual([["pictures/logo.png"]]);
  });

  it("is said for an attachment without content in the source", async () => {
    const { run } = await begin({
      "a.typ":
        '#pdf.attach("a.xml", bytes("x"), mime-type: "text/xml")\n#pdf.attach("b.xml", mime-type: "text/xml")\n#pdf.attach(\n  "c.xml",\n)',
    });
    const { stderr } = await run("render", "a.typ");
    expect(stderr.match(/\w\.xml", which does not exist/g)).toEqual([
      'b.xml", which does not exist',
      'c.xml", which does not exist',
    ]);
  });
});
