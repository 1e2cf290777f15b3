/** The notes and the packages of a release, as .github/workflows/release.yml makes them. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { VERSION } from "../../clients/command-line/version.ts";
import { CLIENT_FILES } from "../../protocol/routes.ts";
import { pythonWheel } from "../../scripts/assets/python-wheel.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

interface LockedPackage {
  readonly integrity?: string;
  readonly link?: boolean;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: readonly string[];
}

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const notesOf = (...args: readonly string[]) =>
  execa(process.execPath, ["scripts/build/release-notes.ts", ...args], { cwd: PROJECT, reject: false });

it("a release takes its notes from the changelog, with links that lead to the tag", async () => {
  const { stdout: plain } = await notesOf(`v${VERSION}`);
  const { stdout } = await notesOf(`v${VERSION}`, "https://forge.example/team/service");
  expect(stdout).toContain("### Added\n");
  expect(stdout).not.toMatch(/^## /m);
  const linksIn = (text: string) => [...text.matchAll(/\]\((.*?)\)/g)].map(([, url = ""]) => url);
  const leadingTo = (url: string) =>
    url.startsWith("https://") ? url : `https://forge.example/team/service/blob/v${VERSION}/${url}`;
  expect(linksIn(stdout)).toEqual(linksIn(plain).map(leadingTo));
});

it("a release is refused for a tag that is not the version", async () => {
  const { exitCode, stdout, stderr } = await notesOf(VERSION);
  expect([exitCode, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`is not v${VERSION}`);
});

it("a release has the packages of this version, with their checksums and the repository of their provenance", async () => {
  const target = await makeTemporaryFolder("release-");
  await execa(process.execPath, ["scripts/build-packages.ts", target], {
    cwd: PROJECT,
    env: { PACKAGE_REPOSITORY: "git+https://forge.example/team/service.git", NODE_DISABLE_COMPILE_CACHE: "1" },
  });
  const names = ["document-rendering", "document-rendering-client", "document-rendering-e-invoice"];
  const archives = names.map((name) => `${name}-${VERSION}.tgz`);
  const { wheel } = CLIENT_FILES;
  expect((await readdir(target)).toSorted()).toEqual(["SHA256SUMS", ...archives, wheel]);
  await execa("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: target });
  // The file that pip gets from a deployment of this version.
  expect((await readFile(join(target, wheel))).equals(await pythonWheel())).toBe(true);
  for (const archive of archives) {
    const { stdout } = await execa("tar", ["-xzOf", join(target, archive), "package/package.json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      version: VERSION,
      repository: { url: "git+https://forge.example/team/service.git" },
    });
  }
});

it("every job that can sign or publish runs nothing of the project and of its packages", async () => {
  const workflow = parse(await readFile(join(PROJECT, ".github/workflows/release.yml"), "utf8"));
  const trusted = Object.entries<Job>(workflow.jobs).filter(([, { permissions }]) => permissions?.["id-token"]);
  expect(trusted.map(([name]) => name)).toEqual(["publish-image", "publish-packages"]);
  for (const [name, { steps }] of trusted) {
    expect(
      steps.map(({ uses }) => uses ?? "").filter((uses) => uses.startsWith("actions/checkout")),
      name,
    ).toEqual([]);
    for (const { run = "" } of steps)
      expect(run, name).not.toMatch(/\bnpx\b|\bnode\b|npm (?!publish --ignore-scripts )/);
  }
});

it("the lock file names no registry, and the checksum of every package that this service, CI and releases fetch", async () => {
  const { packages } = JSON.parse(await readFile(join(PROJECT, "package-lock.json"), "utf8"));
  const fetched = Object.entries<LockedPackage>(packages).filter(
    ([path, { link }]) => path.includes("node_modules/") && !link,
  );
  expect(fetched.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  const unverified = fetched.filter(([, { integrity = "" }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
  // Packages of other platforms, for developers: `node scripts/pinned/lock-checksums.ts` adds these where the registry has
  // them.
  const isForeign = ({ dev, optional, os = [], cpu = [], libc = ["glibc"] }: LockedPackage) =>
    dev &&
    optional &&
    !(os.includes("linux") && ["x64", "arm64"].some((one) => cpu.includes(one)) && libc.includes("glibc"));
  expect(unverified.filter(([, entry]) => !isForeign(entry)).map(([path]) => path)).toEqual([]);
});

it("every workflow pins actions by commit, and containers by digest", async () => {
  const folder = join(PROJECT, ".github/workflows");
  for (const name of await readdir(folder)) {
    const text = await readFile(join(folder, name), "utf8");
    expect(Object.keys(parse(text).jobs).length).toBeGreaterThan(0);
    const uses = [...text.matchAll(/uses: (?!\.\/)(.*)$/gm)].map(([, action = ""]) => action);
    for (const [, image] of text.matchAll(/(?:image: |- )(node:.*)$/gm)) {
      expect(image, name).toMatch(/^node:\d+-trixie@sha256:[0-9a-f]{64}$/);
    }
    for (const action of uses) expect(action, name).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  }
});
