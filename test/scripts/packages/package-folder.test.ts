/** Packages are added, removed, installed and verified, with a lock file that says what is there. */
import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeEach, describe, expect, it } from "vitest";
import { PACKAGES_LOCK_NAME, readPackagesLock } from "../../../backend/compiler/vendored-packages.ts";
import { type PackageSpec, parsePackageSpec } from "../../../rules/package-spec.ts";
import { DOWNLOAD_LIMITS } from "../../../scripts/packages/download.ts";
import { locateLocalPackage } from "../../../scripts/packages/local-package.ts";
import {
  addPackages,
  findProblems,
  installPackages,
  removePackages,
} from "../../../scripts/packages/package-folder.ts";
import { parseRegistry } from "../../../scripts/packages/registry.ts";
import { sha256 } from "../../../scripts/pinned/content-digest.ts";
import {
  archiveOf,
  fileEntry,
  type PackageRegistry,
  packageArchive,
  packageManifest,
  startPackageRegistry,
} from "../../support/clients/package-registry.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const CHART = "@preview/chart:1.0.0";
const AXES = "@preview/axes:0.2.0";
const NUMBERS = "@preview/numbers:0.1.0";
const LETTER = "@preview/letter:2.0.1";

let registry: PackageRegistry;
let folder: string;
let archives: Readonly<Record<string, Buffer>>;

/** chart imports axes, which imports numbers and chart again; letter imports numbers. */
beforeEach(async () => {
  registry = await startPackageRegistry();
  folder = join(await makeTemporaryFolder("packages-test-"), "packages");
  archives = {
    [CHART]: await packageArchive(CHART, { "lib.typ": `#import "src/all.typ": *`, "src/all.typ": `#import "${AXES}"` }),
    [AXES]: await packageArchive(AXES, { "lib.typ": `#import "${NUMBERS}": one\n#let f() = { import "${CHART}" }` }),
    [NUMBERS]: await packageArchive(NUMBERS, { "lib.typ": "#let one = 1" }),
    [LETTER]: await packageArchive(LETTER, {
      "lib.typ": `#import "${NUMBERS}": one\n// #import "@preview/none:1.0.0"`,
    }),
  };
  for (const [spec, archive] of Object.entries(archives)) registry.publish(spec, archive);
});

function spec(text: string): PackageSpec {
  const parsed = parsePackageSpec(text);
  if (parsed === null) throw new Error(text);
  return parsed;
}

const add = (...texts: string[]) => addPackages(folder, texts.map(spec), { registry: registry.url, without: [] });
const remove = (...texts: string[]) => removePackages(folder, texts.map(spec));
const lockedSpecs = async () => Object.keys((await readPackagesLock(folder))?.packages ?? {});

/** Everything in the folder: paths with contents. */
async function snapshot(): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(files.map(async (path) => [path, await readFile(path, "utf8")] as const));
  return { ...Object.fromEntries(contents), folders: entries.filter((entry) => entry.isDirectory()).length.toString() };
}

describe("add", () => {
  it("takes a package with everything that it imports, each downloaded once, and locks what it has taken", async () => {
    expect((await add(CHART)).added).toEqual([CHART, AXES, NUMBERS]);
    expect(registry.requests).toHaveLength(3);
    expect(await readFile(join(folder, "preview/chart/1.0.0/src/all.typ"), "utf8")).toBe(`#import "${AXES}"`);
    expect((await readdir(folder)).sort()).toEqual([PACKAGES_LOCK_NAME, "preview"]);
    const lock = JSON.parse(await readFile(join(folder, PACKAGES_LOCK_NAME), "utf8"));
    expect(Object.keys(lock.packages)).toEqual([AXES, CHART, NUMBERS]);
    const place = join(folder, "preview/chart/1.0.0");
    const command = "find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum";
    const content = execFileSync("sh", ["-c", command], { cwd: place, encoding: "utf8" }).slice(0, 64);
    expect(lock.packages[CHART]).toEqual({
      requested: true,
      registry: registry.url.href,
      archive_sha256: sha256(archives[CHART] ?? ""),
      content_sha256: content,
      imports: [AXES],
    });
    expect(lock.packages[AXES].requested).toBe(false);
  });

  it("downloads nothing that is there already, and remembers what was requested", async () => {
    await add(LETTER);
    const before = registry.requests.length;
    expect((await add(NUMBERS)).added).toEqual([]);
    expect(registry.requests).toHaveLength(before);
    await remove(LETTER);
    expect(await lockedSpecs()).toContain(NUMBERS);
  });

  it("leaves the folder as it was if an import is not available, and says who imports it", async () => {
    await add(LETTER);
    const before = await snapshot();
    registry.publish(AXES, (response) => response.writeHead(404).end());
    await expect(add(CHART)).rejects.toThrow(
      /@preview\/axes:0\.2\.0 is not in the registry .* @preview\/chart:1\.0\.0 imports it/,
    );
    expect(await snapshot()).toEqual(before);
  });

  it("leaves out what is named by --without, and still verifies", async () => {
    registry.publish(AXES, (response) => response.writeHead(404).end());
    await addPackages(folder, [spec(CHART)], { registry: registry.url, without: [spec(AXES)] });
    expect(await lockedSpecs()).toEqual([CHART]);
    expect(await findProblems(folder)).toEqual([]);
  });

  it("finds imports anywhere in the source, but not in comments, templates and other files", async () => {
    const text = "@preview/thesis:1.0.0";
    const source = `/// #import "@preview/a:1.0.0"\n  // "@preview/b:1.0.0"\n#let url = "https://x" // see
#let f() = {\n  let p = "${NUMBERS}"\n  import p: one }\n#import "@local/own:1.0.0"`;
    const files = {
      "typst.toml": packageManifest(text, '[template]\npath = "template"\nentrypoint = "main.typ"\n'),
      "lib.typ": source,
      "template/main.typ": '#import "@preview/c:1.0.0"',
      "README.md": '#import "@preview/d:1.0.0"',
    };
    registry.publish(text, await packageArchive(text, files));
    const { added, notInRegistry } = await add(text);
    expect({ added, notInRegistry }).toEqual({ added: [text, NUMBERS], notInRegistry: ["@local/own:1.0.0"] });
  });

  it("writes files without the right to execute them", async () => {
    const text = "@preview/tool:1.0.0";
    const run = fileEntry("run.sh", "#!/bin/sh\n");
    const files = [fileEntry("typst.toml", packageManifest(text)), fileEntry("lib.typ")];
    registry.publish(text, await archiveOf([...files, { ...run, header: { ...run.header, mode: 0o4777 } }]));
    await add(text);
    expect((await stat(join(folder, "preview/tool/1.0.0/run.sh"))).mode & 0o7111).toBe(0);
  });

  it.each([
    ["no manifest", { "typst.toml": "" }, "not valid"],
    ["no TOML", { "typst.toml": "[package" }, "is not TOML"],
    ["another name", { "typst.toml": packageManifest("@preview/other:1.0.0") }, "that of another package"],
    ["another version", { "typst.toml": packageManifest("@preview/bad:1.0.1") }, "that of another package"],
    ["an entrypoint that is not there", { "lib2.typ": "" }, "entrypoint"],
    [
      "a newer Typst",
      { "typst.toml": packageManifest("@preview/bad:1.0.0", 'compiler = "0.15.2"\n') },
      "needs Typst 0.15.2",
    ],
  ])("refuses a package with %s", async (_what, files, reason) => {
    const text = "@preview/bad:1.0.0";
    const library: Readonly<Record<string, string>> = reason === "entrypoint" ? {} : { "lib.typ": "" };
    registry.publish(text, await packageArchive(text, { ...library, ...files }));
    await expect(add(text)).rejects.toThrow(reason);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(["0.15.1", "0.15", "0.9.0"])("takes a package that needs Typst %s", async (compiler) => {
    const text = "@preview/fine:1.0.0";
    const manifest = packageManifest(text, `compiler = "${compiler}"\n`);
    registry.publish(text, await packageArchive(text, { "typst.toml": manifest, "lib.typ": "" }));
    expect((await add(text)).added).toEqual([text]);
  });

  it.each<[reason: string, names: string[]]>([
    ["leads out of the package", ["../../../x"]],
    ["EEXIST", ["a", "a/b.typ"]],
    ["EEXIST", ["a/b.typ", "a"]],
    ["ENAMETOOLONG", ["n".repeat(256)]],
  ])("leaves nothing of a hostile archive: %s, %j", async (reason, names) => {
    await add(LETTER);
    const before = await snapshot();
    const text = "@preview/hostile:1.0.0";
    const manifest = [fileEntry("typst.toml", packageManifest(text)), fileEntry("lib.typ")];
    registry.publish(text, await archiveOf([...manifest, ...names.map((name) => fileEntry(name))]));
    await expect(add(CHART, text)).rejects.toThrow(reason);
    expect(await snapshot()).toEqual(before);
  });

  it("bounds a download that never ends, and the number of packages", async () => {
    registry.publish(CHART, (response) => {
      const send = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024))) {}
        if (!response.destroyed) response.once("drain", send);
      };
      send();
    });
    const addWith = (limits: Partial<typeof DOWNLOAD_LIMITS>) =>
      addPackages(folder, [spec(CHART)], {
        registry: registry.url,
        without: [],
        limits: { ...DOWNLOAD_LIMITS, ...limits },
      });
    await expect(addWith({ maxArchiveBytes: 1024 ** 2 })).rejects.toThrow("more than 1048576 bytes");
    registry.publish(CHART, archives[CHART] ?? Buffer.alloc(0));
    await expect(addWith({ maxPackages: 2 })).rejects.toThrow("More than 2");
    expect((await addWith({ maxPackages: 3 })).added).toHaveLength(3);
  });

  it("refuses redirects, other answers and registries without https", async () => {
    registry.publish(CHART, (response) => response.writeHead(302, { Location: "/x" }).end());
    await expect(add(CHART)).rejects.toThrow("unexpected redirect");
    registry.publish(CHART, (response) => response.writeHead(500).end());
    await expect(add(CHART)).rejects.toThrow("HTTP 500");
    for (const text of ["http://example.org", "ftp://example.org", "file:///tmp", "nonsense"]) {
      expect(() => parseRegistry(text)).toThrow("must be an https URL");
    }
    expect(parseRegistry("https://example.org/typst").href).toBe("https://example.org/typst");
  });

  it("does not overwrite what is not in the lock file", async () => {
    await add(LETTER);
    await rm(join(folder, PACKAGES_LOCK_NAME));
    const before = await snapshot();
    await expect(add(LETTER)).rejects.toThrow("remove it first");
    expect(await snapshot()).toEqual(before);
  });

  it("lets one of two runs wait for the other, and clears up after one that was killed", async () => {
    await mkdir(join(folder, ".work-killed/new/preview"), { recursive: true });
    await Promise.all([add(CHART), add(LETTER)]);
    expect(await lockedSpecs()).toEqual([AXES, CHART, LETTER, NUMBERS]);
    expect((await readdir(folder)).sort()).toEqual([PACKAGES_LOCK_NAME, "preview"]);
    expect(await findProblems(folder)).toEqual([]);
  });
});

describe("remove", () => {
  it("removes a package with what nothing else needs", async () => {
    await add(CHART, LETTER);
    expect((await remove(CHART)).removed).toEqual([AXES, CHART]);
    expect((await remove(LETTER)).removed).toEqual([LETTER, NUMBERS]);
    expect(Object.keys(await snapshot())).toEqual([join(folder, PACKAGES_LOCK_NAME), "folders"]);
  });

  it("refuses what another package imports, and what is not there", async () => {
    await add(LETTER, NUMBERS);
    const before = await snapshot();
    await expect(remove(NUMBERS)).rejects.toThrow(`${LETTER} imports ${NUMBERS}`);
    await expect(remove(CHART)).rejects.toThrow("is not in");
    expect(await snapshot()).toEqual(before);
  });
});

describe("verify", () => {
  beforeEach(() => add(LETTER));
  const library = () => join(folder, "preview/letter/2.0.1/lib.typ");

  it("finds nothing wrong with what was added, and with the operator's own packages", async () => {
    await cp(join(folder, "preview/letter/2.0.1"), join(folder, "local/letter/2.0.1"), { recursive: true });
    expect(await findProblems(folder)).toEqual([]);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ["a changed file", () => writeFile(library(), "changed"), "is not as it was downloaded"],
    ["a new file", () => writeFile(`${library()}x`, ""), "is not as it was downloaded"],
    ["a missing file", () => rm(library()), "is not as it was downloaded"],
    ["a link", () => symlink("lib.typ", `${library()}x`), "holds links"],
    ["a missing package", () => rm(join(folder, "preview/letter"), { recursive: true }), "is missing"],
    [
      "a package that is not listed",
      () => cp(join(folder, "preview/letter/2.0.1"), join(folder, "preview/letter/2.0.2"), { recursive: true }),
      "not listed",
    ],
    ["a missing lock file", () => rm(join(folder, PACKAGES_LOCK_NAME)), "has no packages-lock.json"],
  ])("finds %s", async (_what, change, problem) => {
    await change();
    expect((await findProblems(folder)).join()).toContain(problem);
  });

  it("reports a file that is not a lock file", async () => {
    await writeFile(join(folder, PACKAGES_LOCK_NAME), '{ "lock_version": 2 }');
    await expect(findProblems(folder)).rejects.toThrow("is not a lock file: lock_version");
  });
});

describe("install", () => {
  it("brings back what is missing or changed, and nothing else", async () => {
    await add(CHART);
    const before = await snapshot();
    await rm(join(folder, "preview/axes"), { recursive: true });
    await writeFile(join(folder, "preview/chart/1.0.0/lib.typ"), "changed");
    registry.requests.length = 0;
    expect((await installPackages(folder, null)).added.toSorted()).toEqual([AXES, CHART]);
    expect(registry.requests).toHaveLength(2);
    expect(await snapshot()).toEqual(before);
    expect((await installPackages(folder, null)).added).toEqual([]);
  });

  it("refuses another archive than the locked one", async () => {
    await add(LETTER);
    await writeFile(join(folder, "preview/letter/2.0.1/lib.typ"), "changed");
    const before = await snapshot();
    registry.publish(LETTER, await packageArchive(LETTER, { "lib.typ": "#let other = 1" }));
    await expect(installPackages(folder, null)).rejects.toThrow("its archive is not the one in packages-lock.json");
    expect(await snapshot()).toEqual(before);
  });
});

describe("the command", () => {
  const PROGRAM = fileURLToPath(new URL("../../../scripts/packages.ts", import.meta.url));
  const run = (...args: string[]) => execa(process.execPath, [PROGRAM, ...args, "--to", folder], { reject: false });

  it("adds, lists and verifies", async () => {
    const added = await run("add", LETTER, "--registry", registry.url.href);
    expect(added).toMatchObject({ exitCode: 0, stdout: `added ${LETTER}\nadded ${NUMBERS}` });
    expect((await run("list")).stdout).toBe(`${LETTER}\n${NUMBERS} (imported)`);
    await writeFile(join(folder, "preview/letter/2.0.1/lib.typ"), "changed");
    expect(await run("verify")).toMatchObject({ exitCode: 1, stderr: `${LETTER} is not as it was downloaded.` });
  });

  it("says what is wrong in one line", async () => {
    const unknown = await run("add", "@preview/unknown:1.0.0", "--registry", registry.url.href);
    expect(unknown).toMatchObject({ exitCode: 1, stdout: "" });
    expect(unknown.stderr.split("\n")).toHaveLength(1);
    const unsafe = await run("add", CHART, "--registry", "http://example.org");
    expect(unsafe.stderr).toContain("must be an https URL");
  });

  const NAMESPACES = ["--user", "--map-root-user", "--mount"];
  const canMount = spawnSync("unshare", [...NAMESPACES, "true"]).status === 0;

  it.skipIf(!canMount)("says so in one line when the disk is full (skipped without user namespaces)", async () => {
    const disk = await makeTemporaryFolder("packages-disk-");
    const text = Buffer.alloc(200_000, "x").toString();
    registry.publish(LETTER, await packageArchive(LETTER, { "lib.typ": "", "big.txt": text }));
    const script = 'mount -t tmpfs -o size=64k tmpfs "$1" && shift && exec "$@"';
    const command = [process.execPath, PROGRAM, "add", LETTER, "--registry", registry.url.href, "--to", `${disk}/p`];
    const args = [...NAMESPACES, "--", "sh", "-c", script, "sh", disk, ...command];
    const full = await execa("unshare", args, { reject: false });
    expect(full).toMatchObject({ exitCode: 1, stdout: "" });
    expect(full.stderr).toMatch(/^The files cannot be written: ENOSPC[^\n]*$/);
  });
});

it.each([
  ["in place of a table", 'package = "'],
  ["as the version of Typst", `${packageManifest(CHART)}compiler = "`],
])("a package cannot write to the operator's terminal by its manifest: %s", async (_where, start) => {
  const manifest = `${start}\\u001b]0;SECRET\\u0007${"x".repeat(10_000)}"\n`;
  registry.publish(CHART, await packageArchive(CHART, { "typst.toml": manifest, "lib.typ": "" }));
  const error = await add(CHART).catch(String);
  expect(error).toMatch(/^VendoringError: @preview\/chart:1\.0\.0 is refused: its typst\.toml is not valid/);
  expect(error).not.toMatch(/SECRET/);
});

describe("a package of this machine", () => {
  async function ownPackage(path = "own"): Promise<string> {
    const place = join(await makeTemporaryFolder("packages-test-"), path);
    await mkdir(join(place, ".git"), { recursive: true });
    await writeFile(join(place, ".git/config"), "x");
    await writeFile(join(place, "typst.toml"), packageManifest("@local/own:1.0.0"));
    await writeFile(join(place, "lib.typ"), `#import "${NUMBERS}": one`);
    return place;
  }
  const addPlaces = (...texts: string[]) =>
    addPackages(folder, [], { registry: registry.url, without: [], places: texts.map(locateLocalPackage) });

  it("is added from its folder with what it imports, replaced, verified, installed again and removed", async () => {
    const place = await ownPackage();
    expect((await addPlaces(place)).added).toEqual(["@local/own:1.0.0", NUMBERS]);
    expect(await readdir(join(folder, "local/own/1.0.0"))).toEqual(["lib.typ", "typst.toml"]);
    expect(await findProblems(folder)).toEqual([]);
    await writeFile(join(place, "more.typ"), "");
    expect((await addPlaces(`file:${place}`)).added).toEqual(["@local/own:1.0.0"]);
    expect(await readdir(join(folder, "local/own/1.0.0"))).toEqual(["lib.typ", "more.typ", "typst.toml"]);
    await rm(join(folder, "local"), { recursive: true });
    expect((await installPackages(folder, registry.url)).added).toEqual(["@local/own:1.0.0"]);
    await writeFile(join(place, "more.typ"), "changed");
    await rm(join(folder, "local"), { recursive: true });
    await expect(installPackages(folder, null)).rejects.toThrow("@local/own:1.0.0 is refused");
    expect((await remove("@local/own:1.0.0")).removed).toEqual(["@local/own:1.0.0", NUMBERS]);
  });

  it("has the namespace of the folder of Typst's that it is in, and may be an archive", async () => {
    expect((await addPlaces(await ownPackage("typst/packages/preview/own/1.0.0"))).added).toContain(
      "@preview/own:1.0.0",
    );
    const archive = join(await makeTemporaryFolder("packages-test-"), "own.tar.gz");
    await writeFile(archive, await packageArchive("@local/other:1.0.0", { "lib.typ": "" }));
    expect((await addPlaces(`file:${archive}`)).added).toEqual(["@local/other:1.0.0"]);
    expect(await findProblems(folder)).toEqual([]);
  });

  it("is refused with a link, without a manifest, or if it is not there; the folder is as it was", async () => {
    await add(LETTER);
    const before = await snapshot();
    const linked = await ownPackage();
    await symlink("/etc/hostname", join(linked, "name.txt"));
    const bare = await ownPackage();
    await rm(join(bare, "typst.toml"));
    for (const [place, why] of [
      [linked, "name.txt is neither a file nor a folder"],
      [bare, "it has no typst.toml"],
      [join(bare, "none"), "cannot be read"],
    ] as const) {
      await expect(addPlaces(place)).rejects.toThrow(why);
    }
    expect(await snapshot()).toEqual(before);
  });
});
