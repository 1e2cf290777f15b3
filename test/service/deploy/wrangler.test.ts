/**
 * The configuration of wrangler, as wrangler itself understands it: every environment, what it would build for the
 * containers, and the bindings that docs/deploy/cloudflare.md shows.
 */
import { chmod, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { parse, stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parseBackendSources } from "../../../edge/backends/backend-address.ts";
import { type Block, blocksOf } from "../../support/readers/markdown-blocks.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));
const readProjectFile = (name: string) => readFile(join(PROJECT, name), "utf8");

const NEEDED = ["Dockerfile", "edge", "node_modules", "package.json", "protocol", "rules", "scripts"];

/** A folder in which wrangler runs, because it writes beside its configuration. */
async function makeWranglerFolder(config: string): Promise<string> {
  const folder = await makeTemporaryFolder("wrangler-test-");
  for (const name of NEEDED) await symlink(join(PROJECT, name), join(folder, name));
  await writeFile(join(folder, "wrangler.toml"), config);
  return folder;
}

/** Runs a command of wrangler; what it says, whether it succeeds or not. */
async function runWrangler(
  folder: string,
  command: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { all } = await execa("bash", ["--norc", "-c", command], {
    cwd: folder,
    all: true,
    reject: false,
    extendEnv: false,
    env: {
      PATH: `${join(PROJECT, "node_modules/.bin")}:${dirname(process.execPath)}:/usr/bin:/bin`,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
      HOME: folder,
      TMPDIR: folder,
      WRANGLER_LOG_PATH: folder,
      WRANGLER_SEND_METRICS: "false",
      ...environment,
    },
  });
  return all;
}

type Table = Readonly<Record<string, unknown>>;

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** A member of nested tables; an empty table if it is not there. */
function tableAt(table: Table, ...path: readonly string[]): Table {
  return path.reduce<Table>((parent, name) => (isTable(parent[name]) ? parent[name] : {}), table);
}

function merged(one: Table, other: Table): Table {
  const result: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const former = result[name];
    result[name] = isTable(former) && isTable(value) ? merged(former, value) : value;
  }
  return result;
}

const CONFIG = await readProjectFile("wrangler.toml");
/** Without the build of the static files, which one of the checks runs. It takes as long as the rest. */
const WITHOUT_BUILD = CONFIG.replace(/^command = .*$/m, 'command = "true"');
const config: Table = parse(WITHOUT_BUILD);
const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(await readProjectFile("package.json"));
const CHECK = "deploy:check:";
const CHECKS = Object.keys(scripts).filter((name) => name.startsWith(CHECK));

/** Expects that wrangler would deploy, and has nothing to complain about. */
function expectDeployable(said: string): void {
  expect(said).toContain("--dry-run: exiting now");
  expect(said).not.toMatch(/WARNING|ERROR/);
}

describe("wrangler.toml", () => {
  it("has a check for each environment", () => {
    const environments = Object.keys(tableAt(config, "env"));
    expect(CHECKS.map((name) => name.slice(CHECK.length)).toSorted()).toEqual(["local", ...environments].toSorted());
  });

  // Tests below deploy the others with more in their configuration, and with what builds the image.
  const checks = CHECKS.filter((name) => !/:(?:production|containers)$/.test(name));

  it.each(checks)("passes npm run %s", async (name) => {
    const folder = await makeWranglerFolder(name.endsWith(":local") ? CONFIG : WITHOUT_BUILD);
    const said = await runWrangler(folder, scripts[name] ?? "");
    expectDeployable(said);
    expect(said).toMatch(/env\.ASSETS +Assets/);
    expect(said).not.toContain("BackendContainer");
  });

  it("builds the backend for the containers", async () => {
    const folder = await makeWranglerFolder(WITHOUT_BUILD);
    // In place of Docker: keeps what it is asked to build.
    const docker = join(folder, "docker");
    await writeFile(
      docker,
      `#!/bin/sh\n[ "$1" = build ] && echo "$*" > '${folder}/asked' && cat > '${folder}/built'\necho {}\n`,
    );
    await chmod(docker, 0o755);
    const said = await runWrangler(folder, "wrangler deploy --dry-run --env=containers --outdir bundle", {
      WRANGLER_DOCKER_BIN: docker,
    });
    expectDeployable(said);
    expect(said).toMatch(/env\.ASSETS +Assets/);
    expect(said).toContain("env.BACKENDS (BackendContainer)");
    expect(await readFile(join(folder, "asked"), "utf8")).toContain("--platform linux/amd64");
    // wrangler names no target, so that the last stage is built.
    const lastStage = (await readFile(join(folder, "built"), "utf8")).split(/^FROM /m).at(-1);
    expect(lastStage).toContain('"backend/main.ts"]');
    expect(lastStage).toContain("EXPOSE 8788");
    expect(await readFile(join(folder, "bundle/worker-with-containers.js"), "utf8")).toMatch(
      /export \{[^}]*BackendContainer/,
    );
  });

  it("tells wrangler the secrets", async () => {
    const folder = await makeWranglerFolder(WITHOUT_BUILD);
    await runWrangler(folder, "wrangler types types.d.ts --env=production --include-runtime=false");
    const types = await readFile(join(folder, "types.d.ts"), "utf8");
    for (const name of ["SERVICE_API_TOKENS", "SERVICE_BACKEND_TOKEN"]) expect(types).toContain(`${name}: string`);
  });
});

describe("docs/deploy/cloudflare.md", async () => {
  const blocks = blocksOf(await readProjectFile("docs/deploy/cloudflare.md")).filter(
    ({ language }) => language === "toml",
  );
  const productionOf = ({ text }: Block) => tableAt(parse(text), "env", "production");

  it("shows bindings that wrangler knows", async () => {
    const whole = blocks.reduce((table, { text }) => merged(table, parse(text)), config);
    const folder = await makeWranglerFolder(stringify(whole));
    const said = await runWrangler(folder, "wrangler deploy --dry-run --env=production --outdir bundle");
    expectDeployable(said);
    expect(said).toMatch(/env\.ASSETS +Assets/);
    expect(said).toMatch(/env\.BACKEND_PARIS \([^)]+\) +VPC Service/);
    expect(said).toMatch(/env\.BACKENDS \([^)]+\) +VPC Network/);
    expect(said).toMatch(/env\.EDGE_ANALYTICS \([^)]+\) +Analytics Engine/);
    expect(said).toMatch(/env\.CALLER_RATE_LIMITER \([^)]+\) +Rate Limit/);
    expect(said).toMatch(/env\.BACKEND_CERTIFICATE \([^)]+\) +mTLS Certificate/);
  });

  it("names origins that the edge understands, through bindings that the page shows", () => {
    const origins = blocks.flatMap((block) => {
      const production = productionOf(block);
      const entries = tableAt(production, "vars").SERVICE_BACKEND_URLS;
      const bound = JSON.stringify([
        ...[production.vpc_services, production.vpc_networks, production.mtls_certificates],
      ]);
      return typeof entries === "string"
        ? parseBackendSources(entries).addresses.map((origin) => ({ origin, bound }))
        : [];
    });
    expect(origins.map(({ origin }) => origin.kind)).toEqual(["binding", "binding", "binding", "url", "binding"]);
    for (const { origin, bound } of origins) {
      if (origin.kind === "binding") expect(bound).toContain(`"binding":"${origin.binding}"`);
    }
  });
});
