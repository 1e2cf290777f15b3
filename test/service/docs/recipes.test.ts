/**
 * The programs of docs/recipes.md and examples/programs, run as they stand: against the service, and against one that answers by a script.
 */
import { cp, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { problem } from "../../../rules/problem.ts";
import { breakOff, FRAMINGS, sentFile } from "../../support/clients/broken-answers.ts";
import {
  answer,
  type Behaviour,
  full,
  PDF,
  reject,
  startScriptedService,
} from "../../support/clients/scripted-service.ts";
import { blocksOf } from "../../support/readers/markdown-blocks.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const PYTHON_MODULE = join(PROJECT, "clients/python/document_rendering.py");

/** How the block of each language is run, and what shows that this machine can. */
const RECIPES = {
  sh: { file: "render.sh", command: ["sh", "render.sh"], version: ["curl", "--version"] },
  python: {
    file: "render.py",
    command: ["python3", "-B", "render.py"],
    version: ["python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"],
  },
  go: { file: "render.go", command: ["go", "run", "render.go"], version: ["go", "version"] },
  java: { file: "Render.java", command: ["java", "Render.java"], version: ["java", "-version"] },
  php: { file: "render.php", command: ["php", "render.php"], version: ["php", "--version"] },
  // 3.1 is the first that can tell a file that breaks off.
  ruby: { file: "render.rb", command: ["ruby", "render.rb"], version: ["ruby", "-e", "exit RUBY_VERSION >= '3.1'"] },
} as const;

type Language = keyof typeof RECIPES;
const LANGUAGES: readonly Language[] = ["sh", "python", "go", "java", "php", "ruby"];

const page = await readFile(join(PROJECT, "docs/recipes.md"), "utf8");
const blocks = blocksOf(page);
/** What the page says to do in an empty folder. */
const BEGINNINGS = Array.from(page.matchAll(/`(echo '[^`]*' > [\w.]+)`/g), ([, command = ""]) => command);

async function canRun(language: Language): Promise<boolean> {
  const [program, ...options] = RECIPES[language].version;
  const { failed } = await execa(program, options, { reject: false });
  return !failed;
}

const canRunEach = await Promise.all(LANGUAGES.map(canRun));
const runnable = new Set(LANGUAGES.filter((_language, index) => canRunEach[index]));

/** The programs run for a moment, and to optimize them takes Java twice the time. */
const QUICK_JAVA = { JAVA_TOOL_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" };

const startScript = ({ onTestFinished }: TestContext, ...answers: readonly Behaviour[]) =>
  startScriptedService((response, count) => answers[count - 1]?.(response), undefined, undefined, onTestFinished);

/** A folder with the program of a language. Where it has run once, Go does not compile it again. */
async function makeFolder(language: Language): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "recipe-")));
  const { file } = RECIPES[language];
  const block = blocks.find((block) => block.language === language);
  if (block === undefined) await cp(join(PROJECT, "examples/programs", file), join(folder, file));
  else await writeFile(join(folder, file), block.text);
  if (language === "python") await cp(PYTHON_MODULE, join(folder, "document_rendering.py"));
  return folder;
}

/** @param request null for what the page itself begins with */
async function run(
  language: Language,
  folder: string,
  url: URL | string,
  request: { readonly source: string; readonly data?: unknown } | null,
) {
  await rm(join(folder, "document.pdf"), { force: true });
  if (request === null) await execa("sh", ["-ec", BEGINNINGS.join("\n")], { cwd: folder });
  else {
    await writeFile(join(folder, "request.json"), JSON.stringify(request));
    await writeFile(join(folder, "letter.typ"), request.source);
    await writeFile(join(folder, "data.json"), JSON.stringify(request.data ?? {}));
  }
  const [program, ...options] = RECIPES[language].command;
  const { exitCode, stderr } = await execa(program, options, {
    cwd: folder,
    reject: false,
    // A locale of ASCII: a program must say that its files are UTF-8.
    env: { SERVICE_URL: new URL(url).origin, SERVICE_API_TOKEN: API_TOKEN, LC_ALL: "C", ...QUICK_JAVA },
  });
  const document = await readFile(join(folder, "document.pdf"), "latin1").catch(() => null);
  return { exitCode, stderr, document };
}

it("docs/recipes.md shows the first programs, and links to the others", () => {
  expect(blocks.map(({ language }) => language)).toEqual(LANGUAGES.slice(0, 2));
  for (const language of LANGUAGES.slice(2)) expect(page).toContain(`(../examples/programs/${RECIPES[language].file})`);
});

const service = await sharedService();

// Most of the time they wait before they try again, so that the languages take turns.
describe.each(LANGUAGES)("the recipe in %s", { concurrent: true }, (language) => {
  const options = { skip: !runnable.has(language), concurrent: false };
  let folder: string;

  beforeAll(async () => {
    folder = await makeFolder(language);
    return () => rm(folder, { recursive: true });
  });

  it("runs in an empty folder, after the page's own commands", options, async () => {
    expect(BEGINNINGS).toHaveLength(3);
    const { exitCode, stderr, document } = await run(language, folder, service.edge.url, null);
    expect([document?.slice(0, 5), exitCode], stderr).toEqual(["%PDF-", 0]);
  });

  it("names the code of a problem, and fails", options, async () => {
    const { exitCode, stderr, document } = await run(language, folder, service.edge.url, { source: "#panic()" });
    expect(stderr).toContain("template_compile_failed");
    expect(exitCode).toBe(1);
    expect(document).toBeNull();
  });

  it("sends no document again that takes too long; curl does, as the page says", options, async (context) => {
    const tooLong = problem("render_timeout", "Too long.", { timeout_secs: 20 });
    const server = await startScript(context, ...Array<Behaviour>(5).fill(reject(tooLong, { "Retry-After": "1" })));
    const { exitCode, stderr } = await run(language, folder, server.url, { source: "x" });
    expect([server.bodies.length, exitCode], stderr).toEqual([language === "sh" ? 5 : 1, 1]);
  });

  it("fails and leaves no document if each of its attempts breaks off, in whatever way", options, async (context) => {
    const file = await (await service.render({ source: "One" })).bytes();
    const answers = FRAMINGS.map((framing) => {
      const sent = sentFile(file, "pdf", !framing.endsWith("length"));
      return breakOff(sent, sent.leastBytes - 3, framing);
    });
    const { url } = await startScript(context, ...answers);
    const { exitCode, document } = await run(language, folder, url, { source: "x" });
    expect([document, exitCode]).toEqual([null, 1]);
  });

  it(
    "writes the file that comes after a gateway's wait until a date, and while no slot was free",
    options,
    async (context) => {
      const source = '= Grüße\n#assert.eq(data, (name: "Zoë", notes: (:)))';
      const later = { "Content-Type": "text/html", "Retry-After": new Date(Date.now() + 2000).toUTCString() };
      let file: Uint8Array = new Uint8Array();
      const passOn: Behaviour = (response) => {
        void (async () => {
          const answer = await service.render({ ...server.bodies.at(-1) });
          file = await answer.bytes();
          response.writeHead(answer.status, PDF).end(file);
        })();
      };
      const server = await startScript(context, answer(429, later, "<h1>slow down</h1>"), full(1), passOn);
      const request = { source, data: { name: "Zoë", notes: {} } };
      const { exitCode, stderr, document } = await run(language, folder, server.url, request);
      expect([document, exitCode], stderr).toEqual([Buffer.from(file).toString("latin1"), 0]);
      expect(document).toMatch(/^%PDF-/);
    },
  );
});
