/**
 * The snippets and commands of README.md, docs/templates.md and docs/deploy: each Typst and JSON block is rendered by
 * the real service, each row of mistakes is sent, and each shell command is run, or found among those that are run
 * elsewhere.
 */
import { cpSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { experimental_getWranglerCommands as wranglerCommands } from "wrangler";
import { parse } from "yaml";
import { TYPST_RELEASES } from "../../../typst/typst-release.mjs";
import { typstPath } from "../../support/backend/typst-path.ts";
import { PROGRAM } from "../../support/clients/command-line.ts";
import { GREY_JPEG } from "../../support/grey-jpeg.ts";
import { blocksOf, snippetsOf } from "../../support/readers/markdown-blocks.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const SERVICE_IN_PAGES = "http://127.0.0.1:8787";

const service = await sharedService();

async function readPage(name: string): Promise<string> {
  return readFile(join(PROJECT, name), "utf8");
}

const ROW = /^\| `(?<sent>.+?)` \| (?<status>\d+)(?: `(?<code>\w+)`)?(?:: (?<words>[^|]+))?[^|]* \|/;

/** What is sent, and the answer: its status, the code of the problem, and words of its detail or of its first error. */
function mistakesOf(page: string) {
  const [, table = ""] = /<!-- mistakes -->\n(.*?)<!-- end of mistakes -->/s.exec(page) ?? [];
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => {
    const { sent = "", status, code, words = "" } = ROW.exec(row)?.groups ?? {};
    if (status === undefined) throw new Error(`not a row of a mistake: ${row}`);
    return { sent, status: Number(status), code, words: words.trim() };
  });
}

/** What an older template has, and what takes its place: the first code of each cell. */
function olderTypstRows(page: string) {
  const [, table = ""] = /<!-- older typst -->\n(.*?)<!-- end of older typst -->/s.exec(page) ?? [];
  return [...table.matchAll(/^\| `(.*?)`.*? \| `(.*?)` \|$/gm)].map(([, older = "", now = ""]) => ({ older, now }));
}

const templates = await readPage("docs/templates.md");
const readme = await readPage("README.md");

describe.each(["docs/languages.md", "docs/labels-and-print.md"])("%s", async (name) => {
  it.each(snippetsOf(await readPage(name)))("renders: $place", async ({ request }) => {
    expect((await service.render(request)).status).toBe(200);
  });
});

describe("docs/templates.md", () => {
  it.each(snippetsOf(templates))("renders: $place", async ({ request }) => {
    const answer = await service.render(request);
    const bytes = Buffer.from(await answer.bytes());
    expect(answer.status, bytes.toString("utf8")).toBe(200);
    expect(bytes.length).toBeGreaterThan(100);
  });

  it.each(mistakesOf(templates))("answers $status $code $words to $sent", async ({ sent, status, code, words }) => {
    const request = sent.startsWith('"') ? { source: "x", ...JSON.parse(`{${sent}}`) } : { source: sent };
    const answer = await service.render(request);
    expect(answer.status).toBe(status);
    if (status === 200) {
      const { pageTexts } = await readPdf(await answer.bytes());
      expect(pageTexts.join()).not.toContain(sent);
      return;
    }
    const text = await answer.text();
    const problem: { code: string; detail: string; context: { errors?: { msg: string }[] } } = JSON.parse(text);
    expect(problem.code).toBe(code);
    expect([problem.detail, ...(problem.context.errors ?? []).map(({ msg }) => msg)].join("\n")).toContain(words);
  });

  it.each(olderTypstRows(templates))("has what to write instead of $older", async ({ older, now }) => {
    expect((await service.render({ source: older })).status).toBe(422);
    expect((await service.render({ source: now })).status).toBe(200);
  });

  it("has snippets and mistakes that this test finds", () => {
    expect(snippetsOf(templates).length).toBeGreaterThan(10);
    expect(mistakesOf(templates).length).toBeGreaterThan(20);
    expect(olderTypstRows(templates).length).toBeGreaterThan(5);
  });

  it("has snippets that show what the text claims", async () => {
    const textOf = async (start: string, index = 0) => {
      const snippet = snippetsOf(templates).filter(({ place }) => place.startsWith(start))[index];
      return (await readPdf(await (await service.render(snippet?.request ?? {})).bytes())).pageTexts;
    };
    expect(await textOf("Data")).toEqual([expect.stringMatching(/^Dear Ada, you ordered 2 items:.*2 × Paper/)]);
    expect(await textOf("Files")).toEqual([expect.stringMatching(/^Dear Ada, The prices.*Paper 4\.50 Ink 12\.00$/)]);
    expect(await textOf("Pages and images")).toEqual(["First", "third"]);
    expect(await textOf("Inputs")).toEqual(["Dear Ada,"]);
    expect(await textOf("Inputs", 1)).toEqual(["Dear Ada, The version of Typst is 0.15.1."]);
    expect(await textOf("Data", 1)).toEqual(["Issued on 5 October 2026, total 0.30 EUR."]);
    expect(await textOf("Data", 2)).toEqual(["1.50, 2.00, 0.13, −3.10"]);
    expect(await textOf("Data", 3)).toEqual(["-5.10: Apfel, apfel, Ärger, Zoo"]);
    expect(await textOf("Rich text")).toEqual([expect.stringMatching(/^Ring twice & wait\. Or: • knock • call #1$/)]);
    const letters = await textOf("Many letters");
    expect(letters.map((text) => / Page (\d of \d)$/.exec(text)?.[1])).toEqual([
      "1 of 1",
      ...[1, 2, 3, 4, 5].map((page) => `${page} of 5`),
      ...[1, 2, 3].map((page) => `${page} of 3`),
    ]);
    expect(letters[1]).toContain("Dear Odo, see Section 1");
  });

  it("keeps a JPEG in the data as it is", async () => {
    const [snippet] = snippetsOf(templates).filter(({ place }) => place.startsWith("A picture in the data"));
    const photo = `data:image/jpeg;base64,${GREY_JPEG.toString("base64")}`;
    const answer = await service.render({
      ...snippet?.request,
      data: { name: "Ada", photo },
      output: { standards: ["a-2b"] },
    });
    expect(Buffer.from(await answer.bytes()).includes(GREY_JPEG)).toBe(true);
    const folder = await makeCheckout();
    await writeFile(join(folder, "main.typ"), snippet?.request.source ?? "");
    await writeFile(join(folder, "people.jsonl"), `${JSON.stringify({ name: "Ada", photo })}\n`);
    const run = await runInCheckout(
      folder,
      "npx document-rendering render main.typ --each people.jsonl -o '{name}.pdf'",
    );
    expect(run.exitCode, run.stderr).toBe(0);
    expect((await readFile(join(folder, "Ada.pdf"))).includes(GREY_JPEG)).toBe(true);
  });
});

it("README.md shows the answer to its request that fails", async () => {
  const shown = JSON.parse(blocksOf(readme).find(({ language }) => language === "json")?.text ?? "");
  const [, wrong = "", right = ""] = /`(#data\.\w+)` in place of `(#data\.\w+)`/.exec(readme) ?? [];
  const [, request = ""] = /-d '(.*?)'/.exec(readme) ?? [];
  const answer = await service.render(request.replace(right, wrong));
  expect(answer.status).toBe(shown.status);
  const problem: Record<string, unknown> = JSON.parse(await answer.text());
  expect(Object.keys(shown)).toEqual(Object.keys(problem));
  expect({ ...problem, instance: shown.instance }).toEqual(shown);
});

describe("docs/command-line.md#in-ci", async () => {
  interface Step {
    readonly name?: string;
    readonly uses?: string;
    readonly run?: string;
  }
  const workflow: { jobs: { templates: { env: Record<string, string>; steps: readonly Step[] } } } = parse(
    await readPage("examples/programs/ci/templates.yml"),
  );
  const { env, steps } = workflow.jobs.templates;
  const runOf = (name: string) => steps.find((step) => step.name === name)?.run ?? "";

  it("has a workflow with the Typst of the service and the actions of this project's own workflows", async () => {
    const release = TYPST_RELEASES["linux-x64"];
    expect(env).toEqual({ TYPST_URL: release?.url, TYPST_SHA256: release?.sha256 });
    const own = (
      await Promise.all(["test", "release"].map((name) => readPage(`.github/workflows/${name}.yml`)))
    ).join();
    for (const { uses } of steps) if (uses !== undefined) expect(own).toContain(`uses: ${uses} `);
    for (const { run = "" } of steps) {
      expect(await mistakesOfShell(run)).toBe("");
    }
  });

  it("has commands that pass for templates that are as expected, and fail with a report for one that is not", async () => {
    const folder = await makeCheckout();
    cpSync(join(PROJECT, "examples/invoice"), join(folder, "templates/invoice"), { recursive: true });
    const command = join(folder, ".bin/document-rendering");
    await writeFile(command, `#!/bin/sh\nexec node '${folder}/dist/cli/main.js' "$@"\n`, { mode: 0o755 });
    const run = (script: string) => runInCheckout(folder, `set -eo pipefail\n${script}\n`);
    const update = "document-rendering test templates/*/ --update";
    expect(await readPage("docs/command-line.md")).toContain(update);
    expect((await run(update)).exitCode).toBe(0);
    for (const name of ["Check", "Test"]) expect((await run(runOf(name))).exitCode, name).toBe(0);
    await writeFile(join(folder, "templates/invoice/cases/wrong.json"), "{}");
    expect((await run(runOf("Test"))).exitCode).toBe(1);
    expect(await readFile(join(folder, "report.html"), "utf8")).toContain("wrong");
    expect(await readFile(join(folder, "junit.xml"), "utf8")).toContain('failures="1"');
    await writeFile(join(folder, "templates/invoice/main.typ"), "#oops");
    expect((await run(runOf("Check"))).exitCode).toBe(4);
  });
});

/** Commands that need minutes, with the test that runs them. */
const NOT_RUN_HERE: Readonly<Record<string, string>> = {
  "npm start": "test/service/start.test.ts",
  "npm test": ".ci/run",
  "docker run --rm -p 127.0.0.1:8787:8787 document-rendering-all-in-one": "test/long/engines/compose.ts",
};

/** Most commands of wrangler need an account. Its table of commands says whether it knows them. */
const WRANGLER = "npx wrangler ";

/** The commands of a shell block: a line that ends with a backslash goes on, and comments are left out. */
function commandsOf(text: string): string[] {
  const lines = text.replaceAll("\\\n", " ").split("\n");
  return lines.map((line) => line.replace(/\s+#.*$/, "").trim()).filter((line) => line !== "");
}

/** What bash says of commands that it only reads. It also says it if the user's locale is not installed. */
async function mistakesOfShell(commands: string): Promise<string> {
  const env = { LC_ALL: "C" };
  return (await execa("bash", ["--norc", "-n"], { input: commands, env, reject: false })).stderr;
}

/** A folder where the commands find what they find in a checkout. */
async function makeCheckout(): Promise<string> {
  const folder = await makeTemporaryFolder("documentation-test-");
  await mkdir(join(folder, ".local"));
  await writeFile(join(folder, ".local/api-token"), `${API_TOKEN}\n`);
  for (const name of ["deploy", "docs", "examples"])
    cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  // There the command finds the token of its checkout.
  cpSync(dirname(PROGRAM), join(folder, "dist/cli"), { recursive: true });
  const bin = join(folder, ".bin");
  await mkdir(bin);
  await symlink(typstPath(), join(bin, "typst"));
  await symlink(process.execPath, join(bin, "node"));
  const script = `#!/bin/sh\ncase "$*" in "document-rendering"*) ;; *) exit 64;; esac\nshift\nexec node '${folder}/dist/cli/main.js' "$@"\n`;
  await writeFile(join(bin, "npx"), script, { mode: 0o755 });
  return folder;
}

function runInCheckout(folder: string, script: string) {
  return execa("bash", ["--norc", "-c", script], {
    cwd: folder,
    reject: false,
    extendEnv: false,
    env: {
      PATH: `${join(folder, ".bin")}:/usr/local/bin:/usr/bin:/bin`,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
      SERVICE_URL: service.edge.url.href,
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_API_TOKEN: API_TOKEN,
      // The program keeps what it has fetched in the user's cache, and finds Typst on PATH.
      HOME: folder,
    },
  });
}

/** Expects that a command which is not run here would work. */
async function expectToWork(command: string): Promise<void> {
  if (command.startsWith(WRANGLER)) return expectWranglerToKnow(command.slice(WRANGLER.length));
  const program = command.replace(/^[A-Z_]+=\S+ /, "");
  const runBy = NOT_RUN_HERE[program];
  if (runBy === undefined) throw new Error(`beside a command that is not run here: ${command}`);
  expect(await readPage(runBy)).toContain(program);
}

/** A command is its first words, as far as the table has them; a name of the operator's own may follow. */
function expectWranglerToKnow(words: string): void {
  const { registry, globalFlags } = wranglerCommands();
  let node = registry;
  for (const word of words.split(" ")) node = node.subtree.get(word) ?? node;
  const { definition } = node;
  if (definition?.type !== "command") throw new Error(`no command of wrangler: ${words}`);
  expect(`wrangler ${words} `).toContain(`${definition.command} `);
  const known = [...Object.keys(definition.args ?? {}), ...Object.keys(globalFlags)];
  for (const [, option] of words.matchAll(/--([a-z-]+)/g)) expect(known, words).toContain(option);
}

const PAGES = {
  "README.md": readme,
  "docs/templates.md": templates,
  "docs/deploy/README.md": await readPage("docs/deploy/README.md"),
  "docs/deploy/cloudflare.md": await readPage("docs/deploy/cloudflare.md"),
};
const SHELL_BLOCKS = Object.entries(PAGES).flatMap(([page, text]) =>
  blocksOf(text)
    .filter(({ language }) => language === "sh")
    .map((block) => ({ page, ...block })),
);

describe("the commands", () => {
  it.each(SHELL_BLOCKS)("of $page do what they say: $place", async ({ text }) => {
    const commands = commandsOf(text);
    expect(await mistakesOfShell(text)).toBe("");
    // A block is run as a whole or not at all, since its later commands may need what its earlier ones made.
    if (commands.some((command) => command in NOT_RUN_HERE || command.startsWith(WRANGLER))) {
      for (const command of commands) await expectToWork(command);
      return;
    }
    const folder = await makeCheckout();
    const script = `set -eo pipefail\n${text.replaceAll(SERVICE_IN_PAGES, service.edge.url.origin)}\n`;
    const run = await runInCheckout(folder, script);
    // The only command that is there to fail: it shows where a mistake is.
    if (text.includes("document-rendering check")) {
      expect([run.exitCode, run.stderr]).toEqual([4, expect.stringMatching(/does not contain key.*main\.typ:14/s)]);
      return;
    }
    expect(run.exitCode, run.stderr).toBe(0);
    // A command says on its standard output what it did, or it makes the file that it names.
    const made = /-o (\S+)/.exec(text)?.[1];
    expect(made === undefined ? run.stdout.length : (await readFile(join(folder, made))).length).toBeGreaterThan(20);
  });

  it("that this test does not run exist", async () => {
    const read = async (path: string): Promise<Record<string, Record<string, string>>> =>
      JSON.parse(await readPage(path));
    const { scripts } = await read("package.json");
    const { devDependencies } = await read("test/package.json");
    const { bin } = await read("clients/command-line/package.json");
    const programs = { ...devDependencies, ...bin };
    const client = await readPage("docs/client.md");
    for (const [page, text] of Object.entries({ ...PAGES, "docs/client.md": client })) {
      for (const [, name = ""] of text.matchAll(/npm run ([\w:]+)/g)) expect(scripts, page).toHaveProperty([name]);
      for (const [, name = ""] of text.matchAll(/npx ([\w-]+)/g)) expect(programs, page).toHaveProperty([name]);
      for (const [, path = ""] of text.matchAll(/node ((?:scripts|backend)\/[\w/.-]+)/g)) await readPage(path);
    }
  });
});
