/** `npm run build:release`: the folder of a version is complete, has nothing for developers, and renders. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { array, object, optional, parse, string } from "valibot";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import project from "../../../package.json" with { type: "json" };
import { copyTracked, expectCleanCheckout, packRelease, writeRelease } from "../../../scripts/build/release-folder.ts";
import { startBuiltEdge } from "../../../scripts/start/built-edge.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";
import { requireTypst } from "../../../typst/program-location.mjs";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";

const BILL_OF_MATERIALS = object({
  components: array(object({ group: optional(string()), name: string(), version: string() })),
});
const PROJECT = new URL("../../../", import.meta.url);
let release = "";

// npm fetches packages that its cache does not have.
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "release of "));
  release = join(folder, project.version);
  // Not the program itself, which refuses a checkout in which somebody works.
  const script =
    'process.umask(0o077); const { writeRelease } = await import("./scripts/build/release-folder.ts"); await writeRelease(process.argv[1]);';
  await execa(process.execPath, ["--input-type=module", "--eval", script, release], { cwd: fileURLToPath(PROJECT) });
  return () => rm(folder, { recursive: true });
}, 300_000);

it("has what its SBOM lists and passes on its licences: packages, Node, what pages are made of; nothing for developers", async () => {
  const { components } = parse(BILL_OF_MATERIALS, JSON.parse(await readFile(join(release, "sbom.cdx.json"), "utf8")));
  const listed = components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`));
  for (const name of Object.keys(project.dependencies)) expect(listed).toContain(name);
  const ofPages = ["@codemirror/view", "pdfjs-dist", "swagger-ui-dist"];
  for (const name of [`node-${process.platform}-${process.arch}`, ...ofPages]) expect(listed).toContain(name);
  for (const name of ["workerd", "wrangler", "esbuild", "vitest", "typescript"]) expect(listed).not.toContain(name);
  const entries = await readdir(join(release, "node_modules"));
  const installed = entries.filter((name) => !name.startsWith("."));
  const known = new Set(listed.map((name) => name.split("/")[0]));
  expect(installed.filter((name) => !known.has(name))).toEqual([]);
  const licences = await readFile(join(release, "THIRD-PARTY-LICENSES.txt"), "utf8");
  for (const { group, name, version } of components) {
    expect(licences).toContain(`\n\n${group === undefined ? "" : `${group}/`}${name} ${version}\n`);
  }
});

it("is not written over a folder that is there", async () => {
  await expect(writeRelease(release)).rejects.toThrow("is there already");
  expect(await readdir(join(release, ".."))).toEqual([project.version]);
});

describe("a checkout", () => {
  async function checkOut(): Promise<string> {
    const folder = await makeTemporaryFolder("checkout-");
    await mkdir(join(folder, "deploy"));
    await writeFile(join(folder, ".gitignore"), "*-secrets.env\n");
    await writeFile(join(folder, "deploy/roll.sh"), "", { mode: 0o755 });
    const git = (...words: string[]) =>
      execa("git", ["-c", "user.name=x", "-c", "user.email=x", ...words], { cwd: folder });
    await git("init", "--quiet");
    await git("add", ".");
    await git("commit", "--quiet", "--message", "x");
    await writeFile(join(folder, "deploy/backend-secrets.env"), "TOKEN=secret", { mode: 0o600 });
    return folder;
  }

  it("gives a release what git tracks, and nothing else that is there: no secrets", async () => {
    const [folder, target] = [await checkOut(), await makeTemporaryFolder("release-")];
    await copyTracked(folder, target, ["deploy"]);
    expect(await readdir(target, { recursive: true })).toEqual(["deploy", "deploy/roll.sh"]);
    expect((await stat(join(target, "deploy/roll.sh"))).mode & 0o111).not.toBe(0);
  });

  it("in which somebody works makes no release", async () => {
    const folder = await checkOut();
    await expectCleanCheckout(folder);
    await writeFile(join(folder, "deploy/new.sh"), "");
    await expect(expectCleanCheckout(folder)).rejects.toThrow("?? deploy/new.sh");
    await rm(join(folder, "deploy/new.sh"));
    await writeFile(join(folder, "deploy/roll.sh"), "changed");
    await expect(expectCleanCheckout(folder)).rejects.toThrow("M deploy/roll.sh");
  });
});

it("is an archive as well, with a checksum, which other hosts unpack", async () => {
  // What matters to an archive, in a smaller folder: to compress the whole one takes half a minute.
  const [cwd, target] = [await makeTemporaryFolder("packed-"), await makeTemporaryFolder("unpacked-")];
  const folder = join(cwd, "folder");
  await mkdir(join(folder, "deploy/.bin"), { recursive: true });
  await writeFile(join(folder, "deploy/roll.sh"), "x", { mode: 0o755 });
  await symlink("../roll.sh", join(folder, "deploy/.bin/roll"));
  const archive = await packRelease(folder);
  await execa("sha256sum", ["--check", `${archive}.sha256`], { cwd });
  await execa("tar", ["--extract", `--file=${archive}`], { cwd: target });
  await execa("diff", ["--recursive", "--no-dereference", folder, join(target, project.version)]);
  expect((await stat(join(target, project.version, "deploy/roll.sh"))).mode & 0o777).toBe(0o755);
});

it("is not written by two at once", async () => {
  await mkdir(`${release}-2.new`);
  await expect(writeRelease(`${release}-2`)).rejects.toThrow("is being written");
  await rmdir(`${release}-2.new`);
});

it("can be read by the users of the units, whatever the builder's umask is", async () => {
  const { stdout } = await execa("find", [release, "!", "-type", "l", "!", "-perm", "-0444"]);
  expect(stdout).toBe("");
});

it("renders a PDF by its own Node and packages alone", async () => {
  const port = await takeFreePort();
  const backend = spawn(join(release, "node_modules/.bin/node"), ["backend/main.ts"], {
    cwd: release,
    env: {
      SERVICE_PORT: String(port),
      SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
      SERVICE_TYPST_BIN: await requireTypst(),
      SERVICE_SANDBOX: "none",
      SERVICE_WORK_DIRECTORY: await makeTemporaryFolder("release-work-"),
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(backend, "exit");
  const edge = await startBuiltEdge(join(release, "dist/edge"), {
    SERVICE_API_TOKENS: API_TOKEN,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: `http://${LOOPBACK}:${port}`,
  });
  onTestFinished(async () => {
    await edge.stop();
    backend.kill("SIGTERM");
    await ended;
  });
  const isReady = () =>
    fetch(`http://${LOOPBACK}:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReady, { timeout: 60_000 }).toBe(true);
  const answer = await fetch(new URL("/v1/render", edge.url), {
    method: "POST",
    headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" },
    body: JSON.stringify({ source: "= Hello" }),
  });
  expect(answer.status).toBe(200);
  expect(Buffer.from(await answer.arrayBuffer()).toString("latin1", 0, 5)).toBe("%PDF-");
});
