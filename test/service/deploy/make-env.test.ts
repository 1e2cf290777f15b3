/** deploy/make-env.sh writes the tokens of a deployment. */
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { availableParallelism, hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { execa } from "execa";
import { beforeEach, expect, it } from "vitest";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
let checkout = "";

beforeEach(async () => {
  checkout = await makeTemporaryFolder("make-env-");
  await cp(join(ROOT, "deploy"), join(checkout, "deploy"), { recursive: true });
  await cp(join(ROOT, ".env.example"), join(checkout, ".env.example"));
});

const makeEnv = (...options: string[]) =>
  execa(join(checkout, "deploy/make-env.sh"), options, { reject: false, cwd: "/" });

const TOKEN = /^[0-9a-f]{64}$/;

it.each([
  ["compose", [], ".env", ".env"],
  ["systemd", ["etc"], "etc/edge.env", "etc/backend.env"],
  [
    "kubernetes",
    ["landlock"],
    "deploy/kubernetes/overlays/landlock/edge-secrets.env",
    "deploy/kubernetes/overlays/landlock/backend-secrets.env",
  ],
])("%s: tokens that fit each other, which only the owner reads", async (kind, options, edgeFile, backendFile) => {
  const { exitCode, stdout } = await makeEnv(kind, ...options);
  expect(exitCode).toBe(0);
  const text = await readFile(join(checkout, edgeFile), "utf8");
  const edge = parseEnv(text);
  const backend = parseEnv(await readFile(join(checkout, backendFile), "utf8"));

  const [caller, token] = edge.SERVICE_API_TOKENS?.split(":") ?? [];
  expect(caller).toBe("billing");
  expect(token).toMatch(TOKEN);
  expect(edge.SERVICE_BACKEND_TOKEN).toMatch(TOKEN);
  expect(edge.SERVICE_BACKEND_TOKEN).not.toBe(token);
  expect(backend.SERVICE_BACKEND_TOKENS).toBe(edge.SERVICE_BACKEND_TOKEN);
  for (const file of [edgeFile, backendFile]) expect((await stat(join(checkout, file))).mode & 0o777).toBe(0o600);
  expect(stdout).not.toContain(token);
});

it("cloudflare: the secrets that an environment's Worker requires", async () => {
  const api = expect.stringMatching(/^billing:[0-9a-f]{64}$/);
  for (const [environment, secrets] of [
    ["production", { SERVICE_API_TOKENS: api, SERVICE_BACKEND_TOKEN: expect.stringMatching(TOKEN) }],
    ["containers", { SERVICE_API_TOKENS: api }],
  ] as const) {
    expect((await makeEnv("cloudflare", environment)).exitCode).toBe(0);
    expect(parseEnv(await readFile(join(checkout, `.local/${environment}.env`), "utf8"))).toEqual(secrets);
  }
});

it("compose: backends are named after the host", async () => {
  await makeEnv("compose");
  const { HOST_NAME } = parseEnv(await readFile(join(checkout, ".env"), "utf8"));
  expect(HOST_NAME).toBe(hostname().replace(/\..*/, ""));
});

it("two backends of one host share its cores", async () => {
  await makeEnv("systemd", "etc");
  const backend = parseEnv(await readFile(join(checkout, "etc/backend.env"), "utf8"));
  const slots = Number(backend.SERVICE_MAX_CONCURRENT_RENDERS);
  expect(slots).toBeGreaterThanOrEqual(1);
  expect(Math.abs(2 * slots - availableParallelism())).toBeLessThanOrEqual(1);
  expect(backend.SERVICE_WARM_RENDERS).toBe(String(slots));
});

it("eight at once write one pair of files that fit each other", async () => {
  const runs = await Promise.all(Array.from({ length: 8 }, () => makeEnv("systemd", "etc")));
  expect(runs.filter(({ exitCode }) => exitCode === 0)).toHaveLength(1);
  expect((await readdir(join(checkout, "etc"))).sort()).toEqual(["backend.env", "edge.env"]);
  const [edge, backend] = await Promise.all(
    ["edge", "backend"].map(async (name) => parseEnv(await readFile(join(checkout, `etc/${name}.env`), "utf8"))),
  );
  expect(edge?.SERVICE_BACKEND_TOKEN).toMatch(TOKEN);
  expect(backend?.SERVICE_BACKEND_TOKENS).toBe(edge?.SERVICE_BACKEND_TOKEN);
});

it("a file that is there stays, and then nothing is written", async () => {
  await makeEnv("systemd", "etc");
  const edge = await readFile(join(checkout, "etc/edge.env"), "utf8");
  await rm(join(checkout, "etc/backend.env"));
  const { exitCode, stderr } = await makeEnv("systemd", "etc");
  expect([exitCode, stderr]).toEqual([1, "etc/edge.env is there already, so nothing was written."]);
  expect(await readFile(join(checkout, "etc/edge.env"), "utf8")).toBe(edge);
  await expect(stat(join(checkout, "etc/backend.env"))).rejects.toThrow("ENOENT");
});

it.each([
  ["on a full disk", "trap '' XFSZ; ulimit -f 0", [".env"]],
  ["without random bytes", "PATH=$PWD/bin:$PATH; echo 'exit 1' > bin/od", [".env"]],
  ["with too few random bytes", "PATH=$PWD/bin:$PATH; echo 'echo 00 11' > bin/od", [".env"]],
  [
    "without a number of cores",
    "PATH=$PWD/bin:$PATH; echo 'exit 1' > bin/getconf",
    ["etc/edge.env", "etc/backend.env"],
  ],
])("%s it fails and leaves no file, and works the next time", async (_where, trouble, files) => {
  const options = files.length === 1 ? ["compose"] : ["systemd", "etc"];
  await mkdir(join(checkout, "bin"));
  const program = (name: string) => writeFile(join(checkout, "bin", name), "", { mode: 0o755 });
  await Promise.all(["od", "getconf"].map(program));
  const inTrouble = `${trouble}; [ -s bin/od ] || rm -f bin/od; [ -s bin/getconf ] || rm -f bin/getconf; exec deploy/make-env.sh "$@"`;
  const shell = await execa("bash", ["-c", inTrouble, "sh", ...options], { reject: false, cwd: checkout });
  expect(shell.exitCode).not.toBe(0);
  expect(shell.stdout).toBe("");
  const left = await readdir(checkout, { recursive: true });
  expect(left.filter((path) => /[.]env([.]new)?$/.test(path))).toEqual([]);
  expect((await makeEnv(...options)).exitCode).toBe(0);
  for (const file of files) expect(await readFile(join(checkout, file), "utf8")).not.toContain("REPLACE");
});

it("what a run that was killed has left is no hindrance, and nothing of it stays", async () => {
  await writeFile(join(checkout, ".env.new"), "half");
  expect((await makeEnv("compose")).exitCode).toBe(0);
  expect((await readdir(checkout)).filter((name) => name.startsWith(".env")).sort()).toEqual([".env", ".env.example"]);
});

it.each([
  [],
  ["unknown"],
  ["compose", "more"],
  ["systemd", ""],
  ["kubernetes"],
  ["kubernetes", ""],
  ["kubernetes", "none"],
  ["kubernetes", "../.."],
  ["cloudflare", "../x"],
  ["cloudflare", ""],
])("wrong arguments are refused (%#)", async (...options) => {
  const { exitCode, stderr } = await makeEnv(...options);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining("usage: ")]);
});
