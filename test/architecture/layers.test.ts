/**
 * The layers that `npm run check:layers` enforces: every rule of the real configuration refuses the import that it is
 * for. The imports stand in a made-up project of empty files. What the layers allow, the project itself shows.
 */
import { spawnSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const CONFIGURATION = ".dependency-cruiser.mjs";

/** Files that exist in the made-up project, to be imported. */
const TARGETS = [
  "rules/problem.ts",
  "protocol/headers.ts",
  "rules/json/cursor.ts",
  "clients/typescript/client.ts",
  "clients/command-line/project/project.ts",
  "edge/app.ts",
  "edge/platform/cloudflare/worker.ts",
  "edge/requests/forward-render.ts",
  "edge/backends/backend.ts",
  "edge/context.ts",
  "edge/body/target.ts",
  "edge/clock.ts",
  "edge/routes/target.ts",
  "clients/command-line/commands/target.ts",
  "clients/playground/result/target.ts",
  "edge/platform/cloudflare/backend-container.ts",
  "backend/main.ts",
  "backend/start/run.ts",
  "backend/start/target.ts",
  "backend/settings.ts",
  "backend/admission/target.ts",
  "backend/render/target.ts",
  "backend/work-directory/target.ts",
];

/** Folders that may not import the outermost one. The name of the file is that of one which may do I/O. */
const INNER_FOLDERS = Object.entries({
  backend: "http observe render compiler sandbox launcher work-directory processes start",
  edge: "guards requests gathered log backends body routes",
  "clients/command-line": "cases each local project packages files commands",
  "clients/playground": "render checks output files editor drafts page result",
}).flatMap(([room, names]) => {
  const folders = names.split(" ");
  const imported = `../${folders.pop()}/target.ts`;
  return folders.map((folder) => [`${room}/${folder}/backend.ts`, imported, `${room}-imports-inwards`] as const);
});

/** Importing file, imported name, and the rule that must refuse it. */
const REFUSED: readonly (readonly [importer: string, imported: string, rule: string])[] = [
  ...INNER_FOLDERS,
  ["rules/with-node.ts", "node:fs", "rules-are-pure"],
  ["rules/with-package.ts", "fastify", "rules-are-pure"],
  ["rules/with-backend.ts", "../backend/settings.ts", "rules-are-pure"],
  ["rules/with-protocol.ts", "../protocol/headers.ts", "rules-are-pure"],
  ["protocol/with-node.ts", "node:fs", "protocol-is-pure"],
  ["protocol/with-edge.ts", "../edge/app.ts", "protocol-is-pure"],
  ["typst/fonts/with-node.ts", "node:fs", "files-of-typst-are-read-anywhere"],
  ["typst/with-backend.ts", "../backend/settings.ts", "typst-stands-below-the-programs"],
  ["typst/with-rules.mjs", "../rules/problem.ts", "finding-programs-is-bare"],
  ["rules/json/with-problem.ts", "../problem.ts", "json-stands-alone"],
  ["clients/typescript/with-node.ts", "node:fs", "client-is-portable"],
  ["clients/typescript/with-package.ts", "fastify", "client-is-portable"],
  ["clients/typescript/with-edge.ts", "../../edge/app.ts", "client-is-portable"],
  ["edge/with-client.ts", "../clients/typescript/client.ts", "edge-names-no-platform"],
  ["backend/http/with-client.ts", "../../clients/typescript/client.ts", "backend-runs-in-node"],
  ["clients/playground/with-node.ts", "node:fs", "playground-is-a-client"],
  ["clients/playground/with-edge.ts", "../../edge/app.ts", "playground-is-a-client"],
  ["clients/command-line/with-settings.ts", "../../backend/settings.ts", "cli-is-a-client"],
  ["clients/command-line/with-edge.ts", "../../edge/app.ts", "cli-is-a-client"],
  ["clients/command-line/with-page.ts", "../playground/result/target.ts", "cli-is-a-client"],
  ["scripts/with-cli.ts", "../clients/command-line/project/project.ts", "nobody-imports-the-command"],
  ["edge/with-backend.ts", "../backend/settings.ts", "edge-names-no-platform"],
  ["edge/with-node.ts", "node:fs", "edge-names-no-platform"],
  ["edge/backends/with-transport.ts", "./backend.ts", "choice-of-backends-does-no-io"],
  ["edge/settings.ts", "./body/target.ts", "edge-settings-are-inside"],
  ["edge/body/with-settings.ts", "../settings.ts", "edge-imports-inwards"],
  ["edge/log/with-context.ts", "../context.ts", "edge-imports-inwards"],
  ["edge/context.ts", "./routes/target.ts", "edge-imports-inwards"],
  ["edge/problem-answer.ts", "./routes/target.ts", "edge-imports-inwards"],
  ["edge/requests/with-application.ts", "../app.ts", "edge-imports-inwards"],
  ["edge/with-workerd.ts", "cloudflare:workers", "edge-names-no-platform"],
  ["edge/with-platform.ts", "./platform/cloudflare/worker.ts", "edge-names-no-platform"],
  ["edge/platform/cloudflare/with-container.ts", "./backend-container.ts", "edge-without-containers"],
  ["edge/platform/cloudflare/with-node.ts", "node:fs", "edge-on-cloudflare"],
  ["edge/platform/node/with-package.ts", "valibot", "edge-on-node"],
  ["server/with-edge.ts", "../edge/app.ts", "server-is-shared"],
  ["backend/with-edge.ts", "../edge/app.ts", "backend-runs-in-node"],
  ["backend/admission/with-node.ts", "node:fs", "admission-knows-nobody"],
  ["backend/admission/with-protocol.ts", "../../protocol/headers.ts", "admission-knows-nobody"],
  ["backend/compiler/with-admission.ts", "../admission/target.ts", "backend-imports-inwards"],
  ["backend/error-log.ts", "./settings.ts", "backend-imports-inwards"],
  ["backend/work-directory/paths.ts", "./target.ts", "backend-leaves"],
  ["backend/with-main.ts", "./main.ts", "nobody-imports-the-program"],
  ["backend/work-directory/with-settings.ts", "../settings.ts", "backend-imports-inwards"],
  ["backend/with-run.ts", "./start/run.ts", "nobody-imports-the-program"],
  ["scripts/with-nothing.ts", "./absent.ts", "every-import-is-found"],
  ["clients/template/with-node.ts", "node:fs", "template-is-portable"],
  ["clients/template/with-client.ts", "../typescript/client.ts", "template-is-portable"],
  ["clients/document/with-node.ts", "node:fs", "document-is-portable"],
  ["clients/data-schema/with-client.ts", "../typescript/client.ts", "data-schema-is-portable"],
  ["clients/e-invoice/with-problem.ts", "../../rules/problem.ts", "e-invoice-stands-alone"],
];

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

let folder: string;
let violations: readonly Violation[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "layers-"));
  await copyFile(join(PROJECT, CONFIGURATION), join(folder, CONFIGURATION));
  await copyFile(join(PROJECT, "package.json"), join(folder, "package.json"));
  await symlink(join(PROJECT, "node_modules"), join(folder, "node_modules"));
  for (const target of TARGETS) await write(target, "export interface Target {}\n");
  for (const [importer, imported] of REFUSED) {
    await write(importer, `import type * as imported from "${imported}";\nexport type Imported = typeof imported;\n`);
  }
  await write("scripts/set-up.mjs", 'import "./set-up/step.mjs";\n');
  await write("scripts/set-up/step.mjs", 'import "../../backend/settings.ts";\nimport "valibot";\n');
  await write(
    "edge/backends/with-clock.ts",
    'import { MONOTONIC_CLOCK } from "../clock.ts";\nMONOTONIC_CLOCK.now();\n',
  );
  violations = cruise();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

function cruise(): readonly Violation[] {
  const program = join(PROJECT, "node_modules/.bin/depcruise");
  const folders = "rules protocol typst clients edge server backend scripts".split(" ");
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...folders, "--output-type", "json"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout).summary.violations;
}

function rulesBrokenBy(importer: string): string[] {
  return [...new Set(violations.filter(({ from }) => from === importer).map(({ rule }) => rule.name))];
}

describe("the layers", () => {
  it.each(REFUSED)("refuse that %s imports the types of %s", (importer, _imported, rule) => {
    expect(rulesBrokenBy(importer)).toEqual([rule]);
  });

  it("refuse a clock to what decides about backends", () => {
    expect(rulesBrokenBy("edge/backends/with-clock.ts")).toEqual(["choice-of-backends-gets-its-clock"]);
  });

  it("refuse what the set-up cannot load on a bare machine, however far away", () => {
    expect(rulesBrokenBy("scripts/set-up.mjs")).toEqual(["set-up-runs-on-a-bare-machine"]);
  });

  it("have no rule that these imports do not break", async () => {
    const { default: configuration } = await import(join(PROJECT, CONFIGURATION));
    const names = configuration.forbidden.map(({ name }: { name: string }) => name);
    expect(new Set(violations.map(({ rule }) => rule.name))).toEqual(new Set(names));
  });
});
