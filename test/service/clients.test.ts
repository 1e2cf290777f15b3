/**
 * What a deployment serves below `/clients`, as those who have nothing else use it: in an empty folder. The TypeScript client
 * is in clients/typescript/package.test.ts.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { CLIENT_FILES, CLIENTS_PATH } from "../../protocol/routes.ts";
import { SERVICE_VERSION } from "../../protocol/version.ts";
import { makeProject } from "../support/clients/command-line.ts";
import { sharedService } from "../support/service/test-service.ts";
import { API_TOKEN } from "../support/tokens.ts";

const service = await sharedService();
const { origin } = service.edge.url;
const urlOf = (name: string) => `${origin}${CLIENTS_PATH}/${name}`;

const MAX_COMMAND_LINE_BYTES = 560_000;

/** Neither the packages of this checkout nor a registry. */
const environment = (folder: string) => ({
  PATH: process.env.PATH ?? "",
  HOME: folder,
  SERVICE_URL: origin,
  SERVICE_API_TOKEN: API_TOKEN,
  npm_config_registry: "http://127.0.0.1:9",
  npm_config_cache: join(folder, ".npm"),
  npm_config_update_notifier: "false",
  PIP_INDEX_URL: "http://127.0.0.1:9",
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
  NODE_DISABLE_COMPILE_CACHE: "1",
});

async function inFolder(folder: string, command: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await execa(command, args, { cwd: folder, env: environment(folder), extendEnv: false });
  return stdout;
}

it("has a checksum for each", async () => {
  const sums = await (await fetch(urlOf(CLIENT_FILES.sums))).text();
  const lines = [CLIENT_FILES.client, CLIENT_FILES.cli, CLIENT_FILES.wheel].map(async (name) => {
    const response = await fetch(urlOf(name));
    expect(response.status).toBe(200);
    const bytes = new Uint8Array(await response.arrayBuffer());
    return `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`;
  });
  expect(sums).toBe((await Promise.all(lines)).join(""));
});

it.each([
  ["docs/client.md", `npm install https://render.example${CLIENTS_PATH}/${CLIENT_FILES.client}`],
  ["docs/command-line.md", `npm install --global https://render.example${CLIENTS_PATH}/${CLIENT_FILES.cli}`],
  ["docs/recipes.md", `pip install https://render.example${CLIENTS_PATH}/${CLIENT_FILES.wheel}`],
])("is what %s begins with", async (page, command) => {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), "utf8");
  expect(text).toContain(command);
});

describe("renders from an empty folder", () => {
  it("by the command line that npm installs", async () => {
    const folder = await makeProject({ "letter.typ": "= Hello" });
    const packed = await fetch(urlOf(CLIENT_FILES.cli));
    expect((await packed.bytes()).length).toBeLessThan(MAX_COMMAND_LINE_BYTES);
    await inFolder(folder, "npm", "install", "--no-audit", "--no-fund", packed.url);
    const installed = await readdir(join(folder, "node_modules"));
    expect(installed.filter((name) => !name.startsWith("."))).toEqual(["document-rendering"]);
    const program = join(folder, "node_modules/.bin/document-rendering");
    expect(await inFolder(folder, process.execPath, program, "--version")).toBe(SERVICE_VERSION);
    await inFolder(folder, process.execPath, program, "render", "letter.typ");
    expect(await readdir(folder)).toContain("letter.pdf");
  });

  it("by the Python client that pip installs", async () => {
    const folder = await makeProject({
      "first.py": `import os, pathlib
from document_rendering import ServiceClient
client = ServiceClient(os.environ["SERVICE_URL"], os.environ["SERVICE_API_TOKEN"])
result = client.render({"source": "= Hello"})
if result.ok:
    pathlib.Path("first.pdf").write_bytes(result.content)
`,
    });
    // The pip of this Python, if it has one: to put another into a venv takes ten seconds.
    const makeOwn = "python3 -m venv --without-pip --system-site-packages own && own/bin/python -m pip --version";
    await inFolder(folder, "sh", "-c", `{ ${makeOwn}; } || python3 -m venv --clear own`);
    const python = join(folder, "own/bin/python");
    await inFolder(folder, python, "-m", "pip", "install", "--quiet", urlOf(CLIENT_FILES.wheel));
    await inFolder(folder, python, "first.py");
    expect(await readdir(folder)).toContain("first.pdf");
    const own = 'import importlib.metadata as it; own = it.distribution("document-rendering")';
    const shown = await inFolder(folder, python, "-c", `${own}; print(own.version, own.requires, *own.files)`);
    expect(shown).toMatch(new RegExp(`^${SERVICE_VERSION} None .*\\bdocument_rendering/py\\.typed\\b`));
  });
});
