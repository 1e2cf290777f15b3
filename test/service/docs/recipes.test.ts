/**
 * The programs of docs/recipes.md and examples/programs, run as they stand: against the service, and against one that answers by a script.
 */
import { cp, readFile, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { breakOff, type Framing, sentFile } from "../../support/clients/broken-answers.ts";
import { answer, full, PDF, startScriptedService } from "../../support/clients/scripted-service.ts";
import { blocksOf } from "../../support/readers/markdown-blocks.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
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

const runnable = new Set<Language>();
for (const language of LANGUAGES) if (await canRun(language)) runnable.add(language);

/** The programs run for a moment, and to optimize them takes Java twice the time. */
const QUICK_JAVA = { JAVA_TOOL_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" };

/** @param request null for what the page itself begins with */
async function run(language: Language, url: URL, request: { readonly source: string; readonly data?: unknown } | null) {
  const { file, command } = RECIPES[language];
  const folder = await makeTemporaryFolder("recipe-");
  const block = blocks.find((block) => block.language === language);
  if (block === undefined) await cp(join(PROJECT, "examples/programs", file), join(folder, file));
  else await writeFile(join(folder, file), block.text);
  if (request === null) await execa("sh", ["-ec", BEGINNINGS.join("\n")], { cwd: folder });
  else {
    await writeFile(join(folder, "request.json"), JSON.stringify(request));
    await writeFile(join(folder, "letter.typ"), request.source);
    await writeFile(join(folder, "data.json"), JSON.stringify(request.data ?? {}));
  }
  if (language === "python") await cp(PYTHON_MODULE, join(folder, "document_rendering.py"));
  const [program, ...options] = command;
  const { exitCode, stderr } = await execa(program, options, {
    cwd: folder,
    reject: false,
    // A locale of ASCII: a program must say that its files are UTF-8.
    env: { SERVICE_URL: url.origin, SERVICE_API_TOKEN: API_TOKEN, LC_ALL: "C", ...QUICK_JAVA },
  });
  const document = await readFile(join(folder, "document.pdf"), "latin1").catch(() => null);
  return { exitCode, stderr, document };
}

it("docs/recipes.md shows the first programs, and links to the others", () => {
  expect(blocks.map(({ language }) => language)).toEqual(LANGUAGES.slice(0, 2));
  for (const language of LANGUAGES.slice(2)) expect(page).toContain(`(../examples/programs/${RECIPES[language].file})`);
});

const service = await sharedService();

describe.each(LANGUAGES)("the recipe in %s", (language) => {
  const test = it.skipIf(!runnable.has(language));

  test("runs in an empty folder, after the page's own commands", async () => {
    expect(BEGINNINGS).toHaveLength(3);
    const { exitCode, stderr, document } = await run(language, service.edge.url, null);
    expect([document?.slice(0, 5), exitCode], stderr).toEqual(["%PDF-", 0]);
  });

  test("names the code of a problem, and fails", async () => {
    const { exitCode, stderr, document } = await run(language, service.edge.url, { source: "#panic()" });
    expect(stderr).toContain("template_compile_failed");
    expect(exitCode).toBe(1);
    expect(document).toBeNull();
  });

  // The client in Python tries again for ten seconds first, as its own tests show.
  if (language !== "python") {
    test("fails and leaves no document if the connection breaks in its middle", async () => {
      const { url } = await startScriptedService((response) => {
        response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": "5000" });
        response.write("%PDF-1.7", () => response.destroy());
      });
      const { exitCode, document } = await run(language, new URL(url), { source: "x" });
      expect(document).toBeNull();
      expect(exitCode).toBe(1);
    });
  }

  test("keeps no file that breaks off, and writes the whole one that comes after a gateway's wait until a date", async () => {
    const file = await (await service.render({ source: "One" })).bytes();
    const half = (isCompressed: boolean, framing: Framing) => {
      const sent = sentFile(file, "pdf", isCompressed);
      return breakOff(sent, sent.leastBytes - 3, framing);
    };
    const later = { "Content-Type": "text/html", "Retry-After": new Date(Date.now() + 2000).toUTCString() };
    const answers = [answer(429, later, "<h1>slow down</h1>"), half(false, "a new length"), half(true, "new chunks")];
    const { url } = await startScriptedService((response, count) =>
      (answers[count - 1] ?? answer(200, PDF, file))(response),
    );
    const { exitCode, stderr, document } = await run(language, new URL(url), { source: "x" });
    expect([document, exitCode], stderr).toEqual([Buffer.from(file).toString("latin1"), 0]);

    const broken = await startScriptedService(half(true, "the end of the connection"));
    const failed = await run(language, new URL(broken.url), { source: "x" });
    expect([failed.document, failed.exitCode]).toEqual([null, 1]);
  });

  test("writes the rendered file, after it has tried again while no slot was free", async () => {
    const source = '= Grüße\n#assert.eq(data, (name: "Zoë", notes: (:)))';
    const passOn = async (response: ServerResponse) => {
      const answer = await service.render({ ...server.bodies.at(-1) });
      response.writeHead(answer.status, { "Content-Type": "application/pdf" }).end(await answer.bytes());
    };
    const server = await startScriptedService((response, count) => {
      if (count === 1) full(1)(response);
      else void passOn(response);
    });
    const url = new URL(server.url);
    const { stderr, document } = await run(language, url, { source, data: { name: "Zoë", notes: {} } });
    expect(document?.slice(0, 5), stderr).toBe("%PDF-");
  });
});
