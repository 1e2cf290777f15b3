/**
 * The package of the client, as a user has it: installed from a deployment in a fresh project without a registry, compiled,
 * bundled, and run in Node, with a browser's globals alone and in workerd, against the running service. The programs of
 * README.md and docs/client.md are among those that run.
 */
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build, type OutputFile } from "esbuild";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CLIENT_FILES, CLIENTS_PATH } from "../../../protocol/routes.ts";
import { startWorkerFile } from "../../support/service/local-worker.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { API_TOKEN, UNREACHABLE_URL } from "../../support/tokens.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const PAGE = await readFile(join(PROJECT, "docs/client.md"), "utf8");

/** A project of someone else, with the package installed. */
let project: string;
const service = await sharedService();

beforeAll(async () => {
  project = await realpath(await mkdtemp(join(tmpdir(), "client-package-")));
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const env = {
    // npm would keep compiled code in the temporary folder.
    NODE_DISABLE_COMPILE_CACHE: "1",
    npm_config_cache: join(project, ".npm"),
    npm_config_registry: UNREACHABLE_URL,
    npm_config_update_notifier: "false",
  };
  const packed = `${service.edge.url.origin}${CLIENTS_PATH}/${CLIENT_FILES.client}`;
  await execa("npm", ["install", "--no-audit", "--no-fund", packed], { cwd: project, env });
});

afterAll(() => rm(project, { recursive: true, force: true }));

/**
 * Compilers' settings of two kinds of project. Declarations are checked too: a package must not hide behind
 * skipLibCheck.
 */
const PROJECTS = {
  node: { module: "nodenext", moduleResolution: "nodenext", lib: ["ES2023"], types: ["node"] },
  worker: {
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["ES2023"],
    types: [join(PROJECT, "node_modules/@cloudflare/workers-types")],
  },
};

/** What the compiler says of files of the fresh project; nothing if they are right. */
async function compile(files: readonly string[], kind: keyof typeof PROJECTS): Promise<string> {
  const compilerOptions = {
    ...PROJECTS[kind],
    target: "es2022",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    typeRoots: [join(PROJECT, "node_modules/@types")],
  };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  const tsc = join(PROJECT, "node_modules/typescript/bin/tsc");
  return (await execa(process.execPath, [tsc, "-p", "."], { cwd: project, reject: false })).stdout;
}

/** Bundles a module of the fresh project for browsers. */
async function bundle(name: string, options: BuildOptions): Promise<readonly OutputFile[]> {
  const { outputFiles = [], warnings } = await build({
    absWorkingDir: project,
    entryPoints: [name],
    outdir: join(project, "bundle"),
    bundle: true,
    minify: true,
    platform: "browser",
    target: "es2022",
    write: false,
    logLevel: "silent",
    ...options,
  });
  expect(warnings).toEqual([]);
  return outputFiles;
}

it("has the client, the rules, their types and nothing else", async () => {
  const installed = join(project, "node_modules/document-rendering-client");
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  expect(manifest).toMatchObject({ type: "module", sideEffects: false, engines: { node: ">=20" } });
  expect(manifest).not.toHaveProperty("dependencies");
  expect(await readdir(join(project, "node_modules"))).toEqual([".package-lock.json", "document-rendering-client"]);
  const names = await readdir(installed, { recursive: true });
  const unexpected = names.filter(
    (name) => !/^(?:types(?:\/(?:clients|clients\/typescript|protocol|rules)(?:\/[a-z-]+\.d\.ts)?)?)$/.test(name),
  );
  expect(unexpected.filter((name) => !/^chunk-[A-Z0-9]+\.js$/.test(name)).toSorted()).toEqual([
    "LICENSE",
    "README.md",
    "THIRD-PARTY-LICENSES.txt",
    "client.js",
    "package.json",
    "rules.js",
  ]);
  const licences = await readFile(join(installed, "THIRD-PARTY-LICENSES.txt"), "utf8");
  expect(licences.match(/^\S+ \d+\.\d+\.\d+$/gm)).toEqual(["content-disposition 3.0.0", "valibot 1.5.0"]);
});

const PROGRAM = `
import { ServiceClient, binaryFile, textFile } from "document-rendering-client";
import type { RenderRequest, RenderResult, ServiceProblem } from "document-rendering-client";
import { checkRequest, type PublishedConstraints } from "document-rendering-client/rules";

interface Invoice { readonly number: string; readonly lines: readonly { amount: number }[] }
const data: Invoice = { number: "7", lines: [{ amount: 1 }] };
const request: RenderRequest = {
  source: "= Hello",
  files: { "a.typ": textFile(""), "b.png": binaryFile(new Uint8Array(3)) },
  data,
  output: { format: "png", page: 1, ppi: 72, filename: null },
};
export const client = new ServiceClient({ url: "https://render.example", token: "token", fetch });
export async function main(constraints: PublishedConstraints): Promise<Uint8Array | ServiceProblem["code"]> {
  checkRequest(request, constraints);
  const result = await client.render(request, { signal: AbortSignal.timeout(1000) });
  if (!result.ok) {
    const { problem } = result;
    if (problem.origin === "capacity") return \`\${problem.code}\`;
    if (problem.code === "template_file_too_large") return problem.context.limit > 0 ? problem.code : problem.code;
    return problem.code;
  }
  return result.bytes();
}

// @ts-expect-error a misspelt field
export const misspelt: RenderRequest = { source: "x", outputs: {} };
// @ts-expect-error an option of another format
export const option: RenderRequest = { source: "x", output: { format: "png", version: "1.7" } };
// @ts-expect-error data that JSON does not have
export const large: RenderRequest = { source: "x", data: 1n };
export function makeMistakes(problem: ServiceProblem, result: RenderResult): void {
  // @ts-expect-error a code that there is not
  if (problem.code === "template_too_large") return;
  // @ts-expect-error a member that the context of this code does not have
  if (problem.code === "template_file_too_large") problem.context.limits;
  // @ts-expect-error a result that nobody has looked at
  result.bytes();
}
`;

/** The page's own programs, by their names. */
const PAGE_PROGRAMS = [...PAGE.matchAll(/<!-- program: (\S+) -->\n\n```ts\n([\s\S]*?)```/g)].map(
  ([, name = "", program = ""]) => ({ name, program }),
);
const [, FIRST_PROGRAM = ""] = /```ts\n([\s\S]*?)```/.exec(await readFile(join(PROJECT, "README.md"), "utf8")) ?? [];
const PROGRAMS = [...PAGE_PROGRAMS, { name: "first", program: FIRST_PROGRAM }];

beforeAll(async () => {
  await writeFile(join(project, "program.ts"), PROGRAM);
  for (const { name, program } of PROGRAMS) {
    const text = program.replaceAll("https://render.example", service.edge.url.origin);
    await writeFile(join(project, `${name}.ts`), text);
  }
});

it("compiles with the pages' programs in a project for Node, and in one for a worker, without types of browsers", async () => {
  const programs = ["program", ...PROGRAMS.map(({ name }) => name)].map((name) => `${name}.ts`);
  expect(await compile(programs, "node")).toBe("");
  expect(await compile(["program.ts"], "worker")).toBe("");
});

/** What runs in every environment: a render, one that is rejected before sending, and one that Typst rejects. */
const RUN = `
import { ServiceClient, textFile } from "document-rendering-client";

export async function run(url, token) {
  const client = new ServiceClient({ url, token });
  const file = await client.render({
    source: '#import "a.typ": a\\n#a(data)', files: { "a.typ": textFile("#let a(x) = [#x]") }, data: "ü",
  });
  const refused = await client.render({ source: "x", output: { pages: "5-2" } });
  const failed = await client.render({ source: "#panic()" });
  return JSON.stringify([
    file.filename,
    new TextDecoder().decode((await file.bytes()).subarray(0, 5)),
    [refused.problem.context.rule, refused.checkedLocally],
    [failed.problem.code, failed.checkedLocally],
  ]);
}
`;
const RUN_RESULT = [
  "document.pdf",
  "%PDF-",
  ["page_range_end_precedes_start", true],
  ["template_compile_failed", false],
];

describe("the client renders", () => {
  beforeAll(() => writeFile(join(project, "run.js"), RUN));

  it("bundled for a browser, with nothing but the globals of the web", async () => {
    const [file] = await bundle("run.js", { format: "iife", globalName: "program" });
    const globals = {
      fetch,
      URL,
      Headers,
      TextEncoder,
      TextDecoder,
      ReadableStream,
      AbortController,
      AbortSignal,
      performance,
      setTimeout,
      clearTimeout,
    };
    const context = createContext({ ...globals, btoa });
    runInContext(file?.text ?? "", context);
    const result = await runInContext(`program.run(${JSON.stringify(service.edge.url)}, "${API_TOKEN}")`, context);
    expect(JSON.parse(result)).toEqual(RUN_RESULT);
  });

  it("in workerd", async () => {
    const call = `run(${JSON.stringify(service.edge.url)}, "${API_TOKEN}")`;
    await writeFile(
      join(project, "worker.js"),
      `import { run } from "./run.js"; export default { fetch: async () => new Response(await ${call}) };`,
    );
    const worker = await startWorkerFile(join(project, "worker.js"));
    onTestFinished(() => worker.stop());
    expect(await (await fetch(worker.url)).json()).toEqual(RUN_RESULT);
  });
});

it("is as small as docs/client.md says, and loads the rules apart", async () => {
  const sizes = /it has less than (\d+) kB, and the rules, .* less than (\d+) kB more/;
  const [, client, rules] = sizes.exec(PAGE.replace(/\s+/g, " ")) ?? [];
  await writeFile(join(project, "size.js"), 'export { ServiceClient } from "document-rendering-client";');
  const files = await bundle("size.js", { format: "esm", splitting: true });
  const entry = files.find(({ path }) => path.endsWith("/size.js"));
  if (entry === undefined) throw new Error("no bundle");
  // What the entry point imports at once, directly or through others.
  const atOnce = new Set([entry]);
  for (const { text } of atOnce) {
    for (const [, name = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) {
      const imported = files.find(({ path }) => path.endsWith(`/${name}`));
      if (imported !== undefined) atOnce.add(imported);
    }
  }
  const size = (some: readonly OutputFile[]) => some.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0);
  const later = files.filter((file) => !atOnce.has(file));
  expect(size([...atOnce])).toBeLessThan(Number(client) * 1000);
  expect(size(later)).toBeLessThan(Number(rules) * 1000);
  expect(size(later)).toBeGreaterThan(size([...atOnce]));
});

describe("the pages' program", () => {
  const expected: Record<string, { stdout?: string; stderr?: string; file?: string }> = {
    render: { stdout: "hello.pdf (application/pdf)", file: "hello.pdf" },
    problems: { stderr: "template: template_compile_failed: " },
    check: { stdout: "invalid_request {" },
    rules: { stdout: "invalid_request {" },
    first: { file: "hello.pdf" },
  };

  it("is each of those listed", () => {
    expect(PROGRAMS.map(({ name }) => name)).toEqual(Object.keys(expected));
    expect(PAGE.match(/```ts/g)).toHaveLength(PAGE_PROGRAMS.length);
  });

  it.each(PROGRAMS)("$name runs", async ({ name }) => {
    const { stdout = "", stderr = "", file } = expected[name] ?? {};
    const env = { PATH: process.env.PATH, SERVICE_URL: service.edge.url.origin, SERVICE_API_TOKEN: API_TOKEN };
    const run = await execa(process.execPath, [`${name}.ts`], { cwd: project, extendEnv: false, env });
    expect(run.stdout).toContain(stdout);
    expect(run.stderr).toContain(stderr);
    if (file === undefined) return;
    expect(await readFile(join(project, file), "latin1")).toMatch(/^%PDF-/);
    await rm(join(project, file));
  });
});
