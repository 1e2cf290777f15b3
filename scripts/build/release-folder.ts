/**
 * A version as a folder that runs: the edge, the backend with its dependencies alone, Node, the files of
 * `deploy/`, and a list of what is in it (`sbom.cdx.json`, CycloneDX). Nothing in it is for developers.
 */
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import project from "../../package.json" with { type: "json" };
import { sha256 } from "../pinned/content-digest.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import { writeEdge } from "./edge-folder.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
/** Folders of which a release has what git tracks: a checkout may hold secrets, such as those that `deploy/kubernetes/` reads. */
const PARTS = ["backend", "rules", "protocol", "typst", "deploy", "LICENSE", "CHANGELOG.md"];
/** Packages and fonts that the operator has fetched, and their lock files. */
const FETCHED = "vendor";
/** By these npm installs. */
const MANIFESTS = ["package.json", "package-lock.json", ".npmrc"];
/** As in the Dockerfile: no second Node, and nothing that only types need. */
const PRODUCTION = ["--omit=dev", "--omit=optional", "--workspaces=false"];

function productionManifest() {
  const { name, version, description, type, license, engines, dependencies } = project;
  return { name, version, description, private: true, type, license, engines, dependencies };
}

/** @throws if the checkout is not what its commit says: nobody could tell what such a release is. */
export async function expectCleanCheckout(checkout: string): Promise<void> {
  const { stdout } = await execa("git", ["status", "--porcelain"], { cwd: checkout });
  const [first] = stdout.split("\n");
  if (first) throw new Error(`a release is made of a commit, and the checkout differs from its own: ${first.trim()}`);
}

/** Copies the files of these names and folders that git tracks. */
export async function copyTracked(checkout: string, target: string, names: readonly string[]): Promise<void> {
  const { stdout } = await execa("git", ["ls-files", "-z", "--", ...names], { cwd: checkout });
  for (const name of stdout.split("\0").filter((path) => path !== "")) {
    await mkdir(dirname(join(target, name)), { recursive: true });
    await copyFile(join(checkout, name), join(target, name));
  }
}

/** @throws if there is such a folder already, which something may run in, unless it is `dist/release`; or if it is being written */
export async function writeRelease(folder: string): Promise<void> {
  const isOwn = folder === join(PROJECT, "dist/release");
  if (!isOwn && existsSync(folder)) throw new Error(`${folder} is there already`);
  const unfinished = `${folder}.new`;
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(unfinished).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new Error(
      `${unfinished} is there: it is being written, or was left by a run that was killed. Then remove it.`,
    );
  });
  try {
    for (const name of MANIFESTS) await copyFile(join(PROJECT, name), join(unfinished, name));
    const options = [...PRODUCTION, "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
    await execa("npm", ["ci", ...options], { cwd: unfinished, stdin: "ignore" });
    for (const name of ["package-lock.json", ".npmrc"]) await rm(join(unfinished, name));
    await writeFile(join(unfinished, "package.json"), `${JSON.stringify(productionManifest(), null, 2)}\n`);
    await mkdir(join(unfinished, "node_modules/.bin"), { recursive: true });
    const node = await realpath(join(PROJECT, "node_modules/.bin/node"));
    await copyFile(node, join(unfinished, "node_modules/.bin/node"));
    await copyTracked(PROJECT, unfinished, PARTS);
    await cp(join(PROJECT, FETCHED), join(unfinished, FETCHED), { recursive: true });
    await writeEdge(join(unfinished, "dist/edge"));
    const licences = "THIRD-PARTY-LICENSES.txt";
    await copyFile(join(unfinished, "dist/edge", licences), join(unfinished, licences));
    const bill = await billOfMaterials(project.name, await readFile(join(unfinished, licences), "utf8"));
    await writeFile(join(unfinished, "sbom.cdx.json"), bill);
    // Users of their own run it, whatever the checkout's modes and the builder's umask are.
    await execa("chmod", ["-R", "u+rwX,go+rX,go-w", unfinished]);
    if (isOwn) await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Beside the folder, one file for other hosts of this kind: unpacked, it is a folder named by the version. And its checksum. */
export async function packRelease(folder: string): Promise<string> {
  const cwd = dirname(folder);
  const name = `${project.name}-${project.version}-${process.platform}-${process.arch}.tar.gz`;
  // Not the targets of links, which begin with a dot as well.
  const inside = [`--transform=s,^[.],${project.version},S`, "--sort=name", "--owner=root:0", "--group=root:0"];
  await execa("tar", ["--create", "--gzip", `--file=${name}`, ...inside, `--directory=${folder}`, "."], { cwd });
  await writeFile(join(cwd, `${name}.sha256`), `${sha256(await readFile(join(cwd, name)))}  ${name}\n`);
  return join(cwd, name);
}
