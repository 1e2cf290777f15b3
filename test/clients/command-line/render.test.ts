/** `render` against the running service, in a pipe and in a pseudo terminal. */
import { lstat, readdir, readFile, readlink, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { shellCommand } from "../../../backend/launcher/program.ts";
import { problem, serviceUnavailable } from "../../../rules/problem.ts";
import {
  commandEnvironment,
  makeProject,
  PROGRAM,
  type ProjectFiles,
  runCommand,
  runInTerminal,
  runnerInProjects,
  runProcess,
  shortenWaits,
  startCommand,
} from "../../support/clients/command-line.ts";
import { answer, reject, startScriptedService, WHOLE_PDF } from "../../support/clients/scripted-service.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { readZip } from "../../support/readers/zip-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";

const url = (await sharedService()).edge.url.origin;

const inProject = runnerInProjects(() => url);

const FOUR_PAGES = "#for page in range(1, 5) [Page #page #pagebreak(weak: true)]";

describe("a document", () => {
  it.each(["page.png", "page.svg"])(
    "is the same from the service and from `check`, byte for byte: %s",
    async (name) => {
      const source =
        '#link("https://e.org/?a&b")[a] #rect(fill: red.transparentize(50%), stroke: color.mix(red, blue))';
      const project = { "letter.typ": source };
      const [remote, local] = await Promise.all(
        ["render", "check"].map(async (command) => {
          const { folder, exitCode } = await inProject(project, [command, "letter.typ", "-o", name]);
          expect(exitCode).toBe(0);
          return readFile(join(folder, name));
        }),
      );
      expect(local?.equals(remote ?? Buffer.alloc(0))).toBe(true);
    },
  );

  it("is made of the source, what it reads, a font folder, named files and the data with every digit", async () => {
    const image = PNG.sync.write(new PNG({ width: 1, height: 1 }));
    const { folder, exitCode, stderr, stdout } = await inProject(
      {
        "letter.typ": '#import "lib/a.typ": a\n#a #data.number #image("x.png") #read("notes/" + "n.txt")',
        "lib/a.typ": '#let a = csv("/table.csv").at(0).at(1)',
        "table.csv": "left,right",
        "x.png": image,
        "notes/n.txt": "noted",
        "private.txt": "private",
        "data.json": '{"number": 9007199254740993}',
      },
      ["render", "letter.typ", "--data", "data.json", "--files", "notes", "-o", "out/letter.pdf"],
    );
    expect(stderr).toMatch(/^out\/letter\.pdf: [0-9.]+ KiB\n$/);
    expect(stdout).toBe("");
    expect(exitCode).toBe(0);
    const { pageTexts } = await readPdf(await readFile(join(folder, "out/letter.pdf")));
    expect(pageTexts.join("").replace(/\s+/g, " ")).toContain("right 9007199254740993");
    expect(pageTexts.join("")).toContain("noted");
    expect(await readdir(join(folder, "out"))).toEqual(["letter.pdf"]);
  });

  it("goes into a pipe or a device, which stays what it is", async () => {
    const folder = await makeProject({ "a.typ": "= x" });
    await execa("mkfifo", [join(folder, "pipe.pdf")]);
    // No name in /dev itself: a command that replaces it would break the machine.
    await symlink("/dev/null", join(folder, "null.pdf"));
    const env = { SERVICE_URL: url };
    const [piped, read] = await Promise.all([
      runCommand(folder, ["render", "a.typ", "-o", "pipe.pdf"], { env }),
      // The pipe has no writer if the command replaces it.
      execa("timeout", ["20", "cat", join(folder, "pipe.pdf")], { encoding: "buffer", reject: false }),
    ]);
    expect(piped.stderr).toMatch(/^pipe\.pdf: /);
    expect((await readPdf(Buffer.from(read.stdout))).pageTexts).toHaveLength(1);
    expect((await lstat(join(folder, "pipe.pdf"))).isFIFO()).toBe(true);
    expect((await runCommand(folder, ["render", "a.typ", "-o", "null.pdf"], { env })).exitCode).toBe(0);
    expect(await readlink(join(folder, "null.pdf"))).toBe("/dev/null");
    // Where /dev/stdout leads. What follows the document, such as the JSON, must not replace it.
    const renderToOutput = ["render", "a.typ", "--format", "pdf", "--json", "-o", "/proc/self/fd/1"];
    const toFile = `{ echo before; ${shellCommand(process.execPath, PROGRAM, ...renderToOutput)}; } > log`;
    await execa("sh", ["-c", toFile], { cwd: folder, env: commandEnvironment(folder, env), extendEnv: false });
    expect(await readFile(join(folder, "log"), "latin1")).toMatch(/^before\n%PDF-.*%%EOF\n?\{.*\}\n$/s);
  });

  it.each([
    ["a.png", ["--ppi", "36", "--page", "2"], (bytes: Buffer) => expect(PNG.sync.read(bytes).width).toBe(298)],
    ["a.svg", ["--page", "1"], (bytes: Buffer) => expect(bytes.toString("utf8")).toMatch(/^<svg /)],
    ["a.zip", ["--format", "svg", "--pages", "1-3"], (bytes: Buffer) => expect(readZip(bytes)).toHaveLength(3)],
  ])("has the format of %s", async (name, args, look) => {
    const run = await inProject({ "a.typ": FOUR_PAGES }, ["render", "a.typ", "-o", name, ...args]);
    const { folder, exitCode, stderr } = run;
    expect(stderr).toContain(name);
    expect(exitCode).toBe(0);
    look(await readFile(join(folder, name)));
  });

  it.each([
    ["a pipe of the shell", '--data <(echo \'{"a": "piped"}\')'],
    ["a text of the shell", '--data /dev/stdin <<< \'{"a": "piped"}\''],
    ["standard input by its name", "--data /dev/stdin < d.json"],
    ["a descriptor", "--data /dev/fd/7 7< d.json"],
    ["rows", '--each <(echo \'{"a": "piped"}\') --overwrite'],
    ["a named pipe", "--data pipe & cat d.json > pipe; wait $!"],
  ])("reads its data from %s", async (_what, input) => {
    const folder = await makeProject({ "a.typ": "#data.a", "d.json": '{"a": "piped"}' });
    await execa("mkfifo", [join(folder, "pipe")]);
    const render = shellCommand(process.execPath, PROGRAM, "render", "a.typ", "-o", "a.pdf");
    const env = commandEnvironment(folder, { SERVICE_URL: url });
    const { exitCode } = await execa("bash", ["-c", `${render} ${input}`], { cwd: folder, env, extendEnv: false });
    expect(exitCode).toBe(0);
    expect((await readPdf(await readFile(join(folder, "a.pdf")))).pageTexts.join("")).toContain("piped");
  });

  it("reads its data from standard input, and goes to standard output, with the report on standard error", async () => {
    const args = ["render", "a.typ", "-d", "-", "-o", "-", "--json"];
    const { bytes, stderr } = await inProject({ "a.typ": "#data.a" }, args, { input: '{"a": "typed"}' });
    expect((await readPdf(bytes)).pageTexts.join("")).toContain("typed");
    expect(JSON.parse(stderr)).toMatchObject({ outcome: "rendered", file: "-" });
  });
});

describe("text written by others", () => {
  const OBEYED = "\u001b[2J\u009b\u202e\u2066\u061c\u0007\r";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not reach a terminal.
  const ANY_OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

  it.each<[string, ProjectFiles, readonly string[]]>([
    ["a source and a missing file", { [`a${OBEYED}\nok.typ`]: '#image("x.png")' }, ["render", `a${OBEYED}\nok.typ`]],
    ["a key", { "a.typ": `#read("b${OBEYED}.txt")`, [`b${OBEYED}.txt`]: "x" }, ["render", "a.typ"]],
    [
      "a line of data",
      { "a.typ": "x", "d.jsonl": `{"id": "${"\u009b\u202e\u061c"}"}` },
      ["render", "a.typ", "--each", "d.jsonl", "-o", "{id}.pdf"],
    ],
    ["a panic", { "a.typ": `#panic("${OBEYED}")` }, ["check", "a.typ"]],
    ["a diagnostic, for a program", { "a.typ": `#read("${OBEYED}")` }, ["check", "a.typ", "--json"]],
    ["an argument", {}, ["render", "a.typ", `--x${OBEYED}`]],
    ["a new folder of init", {}, ["init", `a${OBEYED}`]],
  ])("reaches the terminal without control characters: %s", async (_what, files, args) => {
    const { stdout, stderr } = await inProject(files, args);
    expect(`${stdout}${stderr}`).toContain("\\u202e");
    expect(`${stdout}${stderr}`).not.toMatch(ANY_OBEYED);
  });

  it("reaches the terminal without control characters: a problem of the service", async () => {
    const detail = `x${OBEYED}\nforged: line`;
    const scripted = await startScriptedService(reject(problem("template_compile_failed", detail, {})));
    const { stderr } = await inProject({ "a.typ": "x" }, ["render", "a.typ"], { env: { SERVICE_URL: scripted.url } });
    expect(stderr).not.toMatch(ANY_OBEYED);
    expect(stderr).toContain("\\u000aforged: line");
  });
});

describe("the exit code is", () => {
  const source = { "a.typ": "x", "bad.json": '{"a": 1,\n "b": }', "bad.typ": "#oops" };

  it.each([
    [
      "2 for data that is not JSON, by line and column",
      ["render", "a.typ", "-d", "bad.json"],
      "bad.json:2:7 is not JSON",
    ],
    ["4 for a template that does not compile", ["render", "bad.typ"], "document-rendering check bad.typ"],
  ])("%s", async (title, args, words) => {
    const { exitCode, stderr, stdout } = await inProject(source, args);
    expect(stderr).toContain(words);
    expect(stdout).toBe("");
    expect(exitCode).toBe(Number(title[0]));
  });

  it("6 for a service that fails", async () => {
    const broken = await startScriptedService(reject(serviceUnavailable("draining")));
    expect((await inProject(source, ["render", "a.typ", "--url", broken.url])).exitCode).toBe(6);
  });

  it("7 for a connection that breaks in mid-document each time, of which no file is left", async () => {
    shortenWaits();
    const half = { "Content-Type": "application/pdf" };
    const broken = await startScriptedService(answer(200, half, WHOLE_PDF.slice(0, -1)));
    const { folder, stderr, exitCode } = await inProject(source, ["render", "a.typ", "--url", broken.url]);
    expect(stderr).toContain("broke before the whole answer had arrived. Tried 5 times");
    expect(exitCode).toBe(7);
    expect((await readdir(folder)).filter((name) => name.includes("pdf"))).toEqual([]);
    expect(broken.bodies).toHaveLength(5);
    const invoice = await runCommand(folder, ["render", "a.typ", "--url", broken.url, "--e-invoice", "factur-x"]);
    expect(invoice.stderr).toContain("broke before the whole answer had arrived.");
    expect(invoice.exitCode).toBe(7);
  });

  it("130 for an interruption", async () => {
    const silent = await startScriptedService(() => {});
    const folder = await makeProject(source);
    const running = startCommand(folder, ["render", "a.typ", "--url", silent.url]);
    await expect.poll(() => silent.requests.some(({ url: path }) => path === "/v1/render")).toBe(true);
    running.kill("SIGINT");
    expect((await running).exitCode).toBe(130);
  });
});

describe("--json", () => {
  it("reports a document on standard output", async () => {
    const { stdout, stderr, folder } = await inProject({ "a.typ": "x" }, ["render", "a.typ", "--json"]);
    const { size } = await stat(join(folder, "a.pdf"));
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "rendered",
      file: "a.pdf",
      bytes: size,
      contentType: "application/pdf",
      requestId: expect.any(String),
    });
    expect(stderr).toBe("");
  });

  it("reports a problem as the service sent it", async () => {
    const { stdout } = await inProject({ "a.typ": "#oops" }, ["render", "a.typ", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: "problem",
      exitCode: 4,
      checkedLocally: false,
      problem: { code: "template_compile_failed", status: 422, origin: "template" },
    });
  });

  it("reports a command that cannot begin", async () => {
    const { stdout } = await inProject({}, ["render", "a.typ", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ outcome: "failed", exitCode: 2, message: "a.typ does not exist." });
  });
});

it.each([
  ["--standards ua-1 --pdf-version 1.7", "--standards ua-1 --pdf-version 1.7"],
  ["--page 9 --ppi 96 --output a.PNG", "--format png --page 9 --ppi 96"],
])("a document that cannot be made by %s is explained by a check of the same output: %s", async (given, options) => {
  const args = ["render", "a.typ", ...given.split(" ")];
  const { exitCode, stderr } = await inProject({ "a.typ": "x" }, args);
  expect(exitCode).toBe(4);
  expect(stderr).toContain(`To see the error: document-rendering check a.typ ${options}\n`);
});

it("says where the token of a service on this machine is, if it is called from elsewhere", async () => {
  const folder = await makeProject({ "a.typ": "x" });
  // The function in this process would find the token of this checkout.
  const { stderr } = await runProcess(folder, ["render", "a.typ"], { env: { SERVICE_API_TOKEN: "" } });
  expect(stderr).toContain("`npm start` keeps its own in the file .local/api-token of its checkout.");
});

it("shows progress in a terminal, but not in a pipe", async () => {
  const folder = await makeProject({ "a.typ": "x" });
  const { screen, exitCode } = await runInTerminal(folder, ["render", "a.typ"], { SERVICE_URL: url });
  expect(screen).toContain("Rendering a.typ");
  expect(screen).toContain("a.pdf: ");
  expect(exitCode).toBe(0);
  const piped = await runCommand(folder, ["render", "a.typ"], { env: { SERVICE_URL: url } });
  expect(piped.stderr).not.toContain("Rendering");
});
