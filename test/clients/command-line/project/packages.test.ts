/** Packages of a project: what is sent of them, from where, and what is said of those that are nowhere. */
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { capabilitiesOf } from "../../../../protocol/capabilities.ts";
import { makeProject, type ProjectFiles, runCommand, startWatching } from "../../../support/clients/command-line.ts";
import { answer, sendPdf, startScriptedService } from "../../../support/clients/scripted-service.ts";
import { readPdf } from "../../../support/readers/pdf-reader.ts";
import { sharedService } from "../../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../../support/tokens.ts";

const { edge } = await sharedService();
const real = edge.url.origin;

const DATA = ".local/share/typst/packages";
const CACHE = ".cache/typst/packages";

function manifest(name: string, more = "", version = "1.0.0"): string {
  return `[package]\nname = "${name}"\nversion = "${version}"\nentrypoint = "lib.typ"\n${more}`;
}

/** A project with a package of its user that imports one that Typst has downloaded. */
const FILES = {
  "letter.typ": '#import "@local/letter:1.0.0": greeting\n#greeting',
  [`${DATA}/local/letter/1.0.0/typst.toml`]: manifest(
    "letter",
    'exclude = ["plans/*"]\n[template]\npath = "start"\nentrypoint = "main.typ"\nthumbnail = "look.png"\n',
  ),
  [`${DATA}/local/letter/1.0.0/lib.typ`]:
    '#import "src/more.typ": *\n#import "@preview/words:1.0.0": word\n#let greeting = word + end',
  [`${DATA}/local/letter/1.0.0/src/more.typ`]: '#let end = read("/end.txt")',
  [`${DATA}/local/letter/1.0.0/src/unused.typ`]: "x",
  [`${DATA}/local/letter/1.0.0/end.txt`]: "!",
  [`${DATA}/local/letter/1.0.0/README.md`]: "x",
  [`${DATA}/local/letter/1.0.0/manual.pdf`]: "x",
  [`${DATA}/local/letter/1.0.0/logo.svg`]: "x",
  [`${DATA}/local/letter/1.0.0/start/main.typ`]: "x",
  [`${CACHE}/preview/words/1.0.0/typst.toml`]: manifest("words"),
  [`${CACHE}/preview/words/1.0.0/lib.typ`]: '#let word = "packed"',
} satisfies ProjectFiles;

const LETTER = "packages/local/letter/1.0.0";
const SENT = [`${LETTER}/end.txt`, `${LETTER}/lib.typ`, `${LETTER}/src/more.typ`, `${LETTER}/typst.toml`];
const WORDS = ["packages/preview/words/1.0.0/lib.typ", "packages/preview/words/1.0.0/typst.toml"];

async function inProject(
  files: ProjectFiles,
  args: readonly string[],
  url = real,
  env: Readonly<Record<string, string>> = {},
) {
  const folder = await makeProject(files);
  return { folder, ...(await runCommand(folder, args, { env: { SERVICE_URL: url, ...env } })) };
}

async function plannedKeys(files: ProjectFiles, env?: Readonly<Record<string, string>>) {
  const { stdout, stderr } = await inProject(files, ["render", "letter.typ", "--dry-run", "--json"], real, env);
  expect(stderr).toBe("");
  const { files: all, ...more } = JSON.parse(stdout);
  const keys: string[] = all.flatMap(({ part, path }: { part: string; path: string }) =>
    part === "file" ? [path] : [],
  );
  return { keys, ...more };
}

/** A service that has packages of `@preview` or another namespace, or is older than packages in requests. */
async function startServiceWith(packages: readonly string[], isOlder = false, namespace = "preview") {
  const specs = packages.map((name) => ({ namespace, name, version: "1.0.0" }));
  const { packages_in_files, ...older } = capabilitiesOf("0.15.1", [], specs);
  const document = JSON.stringify(isOlder ? older : { ...older, packages_in_files });
  const capabilities = answer(200, { "Content-Type": "application/json", ETag: '"of-a-test"' }, document);
  const service = await startScriptedService(sendPdf, undefined, capabilities);
  const sent = () => service.bodies.map(({ files }) => Object.keys(files));
  return { url: service.url, sent };
}

describe("a package of this machine", () => {
  it("is sent with what it imports, and the document is made with it", async () => {
    const { folder, exitCode, stderr } = await inProject(FILES, ["render", "letter.typ"]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("letter.pdf: ")]);
    expect((await readPdf(await readFile(join(folder, "letter.pdf")))).pageTexts).toEqual(["packed!"]);
  });

  it("is used by check, test and --each in the same way", async () => {
    const letter = `${FILES["letter.typ"]}\n#data`;
    const rows = '{"id":"a"}\n{"id":"b"}\n';
    const files = { ...FILES, "letter.typ": letter, "rows.jsonl": rows, "cases/one.json": "{}" };
    for (const args of [
      ["check", "letter.typ", "--strict"],
      ["test", "letter.typ", "--update"],
      ["test", "letter.typ", "--update", "--url", real],
      ["check", "letter.typ", "--each", "rows.jsonl"],
      ["render", "letter.typ", "--each", "rows.jsonl", "-o", "out/{id}.pdf"],
    ]) {
      const { exitCode, stderr } = await inProject(files, args);
      expect([args, exitCode, stderr]).toEqual([args, 0, expect.anything()]);
    }
  });

  it("is sent without what its documents do not need: other sources, manuals, pictures, the template", async () => {
    const { keys, packages } = await plannedKeys(FILES);
    expect(keys).toEqual([...SENT, ...WORDS]);
    expect(packages.map(({ name, isSent }: { name: string; isSent: boolean }) => [name, isSent])).toEqual([
      ["@local/letter:1.0.0", true],
      ["@preview/words:1.0.0", true],
    ]);
  });

  it("is sent with all that Typst can read, but for what its author leaves out, where it puts a path together", async () => {
    const more = {
      [`${DATA}/local/letter/1.0.0/src/more.typ`]: '#let end = read("/" + str("end") + ".txt")',
      [`${DATA}/local/letter/1.0.0/plans/a.svg`]: "x",
      [`${DATA}/local/letter/1.0.0/look.png`]: "x",
      [`${DATA}/local/letter/1.0.0/docs/a.svg`]: "x",
      [`${DATA}/local/letter/1.0.0/.git/a.json`]: "x",
    };
    const { keys } = await plannedKeys({ ...FILES, ...more });
    const others = [`${LETTER}/logo.svg`, `${LETTER}/src/unused.typ`];
    expect(new Set(keys)).toEqual(new Set([...SENT, ...others, ...WORDS]));
  });

  it("is sent in the same way where a function that reads files has another name in it", async () => {
    const lib = '#let load = json\n#let greeting = load("/" + "a" + ".json")';
    const files = { ...FILES, [`${DATA}/local/letter/1.0.0/lib.typ`]: lib, [`${DATA}/local/letter/1.0.0/a.json`]: "1" };
    expect((await plannedKeys(files)).keys).toContain(`${LETTER}/a.json`);
  });

  it("is named where it makes a request too large, with what the operator can do", async () => {
    const parts = Array.from({ length: 64 }, (_, index) => `src/${index}.typ`);
    const [letter, words] = [`${DATA}/local/letter/1.0.0`, `${CACHE}/preview/words/1.0.0`];
    const files = {
      ...FILES,
      [`${letter}/lib.typ`]: ['#import "@preview/words:1.0.0"', ...parts.map((part) => `#import "${part}"`)].join("\n"),
      ...Object.fromEntries(parts.map((part) => [`${letter}/${part}`, ""])),
      [`${words}/lib.typ`]: "",
    };
    const { stderr, exitCode } = await inProject(files, ["check", "letter.typ"]);
    expect(stderr).toContain(
      "68 files of these are of packages: @local/letter:1.0.0 (66), @preview/words:1.0.0 (2). The operator",
    );
    expect(exitCode).toBe(3);
  });

  it("is named by --dry-run with its files and where it is from", async () => {
    const { folder, stdout } = await inProject(FILES, ["render", "letter.typ", "--dry-run"]);
    expect(stdout).toContain(`Package @local/letter:1.0.0 from ${join(folder, DATA, "local/letter/1.0.0")}: 4 files, `);
    expect(stdout).toContain(`  ${LETTER}/src/more.typ\n`);
  });

  it("is found where Typst's own variables say, the user's before a downloaded one, the project's own first", async () => {
    const at = (folder: string, text: string) => ({
      [`${folder}/preview/words/1.0.0/typst.toml`]: manifest("words"),
      [`${folder}/preview/words/1.0.0/lib.typ`]: `// ${text}`,
    });
    const files = {
      "letter.typ": '#import "@preview/words:1.0.0"',
      ...at(CACHE, "cache"),
      ...at("elsewhere", "named"),
      ...at("kept", "kept"),
    };
    const folderOf = async (more: ProjectFiles, env: Readonly<Record<string, string>> = {}) => {
      const { packages } = await plannedKeys({ ...files, ...more }, env);
      return packages.map(({ folder }: { folder: string }) => folder.split("/").slice(-4, -3)[0]).join();
    };
    expect(await folderOf({})).toBe("packages");
    expect(await folderOf({}, { TYPST_PACKAGE_CACHE_PATH: "kept" })).toBe("kept");
    expect(await folderOf({}, { TYPST_PACKAGE_PATH: "elsewhere", TYPST_PACKAGE_CACHE_PATH: "kept" })).toBe("elsewhere");
    const { keys } = await plannedKeys({ ...files, ...at("packages", "own") });
    expect(keys).toEqual(WORDS);
  });

  it("may be the project itself, if its typst.toml has the name and version", async () => {
    const own = {
      "letter.typ": '#import "@preview/own:1.0.0": own\n#own',
      "lib.typ": '#let own = "own"',
      "typst.toml": manifest("own"),
    };
    const { exitCode, stderr } = await inProject(own, ["render", "letter.typ"]);
    expect(stderr).toContain(
      "note: @preview/own:1.0.0, which letter.typ:1 imports, is the project itself, by its typst.toml.",
    );
    expect(exitCode).toBe(0);
    const other = { ...own, "typst.toml": manifest("own", "", "1.0.1") };
    expect((await inProject(other, ["render", "letter.typ"])).exitCode).toBe(4);
  });

  it("may be the project around the source, which is its root then", async () => {
    const own = {
      "own/start/letter.typ": '#import "@preview/own:1.0.0": own\n#own',
      "own/lib.typ": '#let own = "own"',
      "own/secret.typ": "",
      "own/typst.toml": manifest("own"),
    };
    const folder = await makeProject(own);
    const { stdout } = await runCommand(folder, ["render", "own/start/letter.typ", "--dry-run"]);
    expect(stdout).toContain(
      `The root is ${join(folder, "own")}, because own/start/letter.typ:1 imports @preview/own:1.0.0, which is there.`,
    );
    expect(stdout).not.toContain("secret.typ");
    expect((await runCommand(folder, ["check", "own/start/letter.typ"])).exitCode).toBe(0);
    expect((await runCommand(folder, ["check", "own/start/letter.typ", "--root", "own/start"])).exitCode).toBe(4);
  });

  it("that is only mentioned in a text is sent, and not missed", async () => {
    const { keys, missingPackages } = await plannedKeys({
      ...FILES,
      "letter.typ": '#let names = ("@preview/words:1.0.0", "@preview/none:1.0.0")',
    });
    expect([keys, missingPackages]).toEqual([WORDS, []]);
    const comment = {
      ...FILES,
      "letter.typ": '// #import "@preview/words:1.0.0"\n/* #import "@preview/words:1.0.0" */',
    };
    expect((await plannedKeys(comment)).keys).toEqual([]);
  });
});

describe("of a package nothing leaves the machine that is not its own", () => {
  it.each([
    ["local/letter/1.0.0", "the folder of the version"],
    ["local/letter", "the folder of the name"],
    ["local", "the folder of the namespace"],
  ])("if %s is a link", async (path) => {
    const folder = await makeProject(FILES);
    await rename(join(folder, DATA, path), join(folder, "elsewhere"));
    await symlink(join(folder, "elsewhere"), join(folder, DATA, path));
    const { stdout } = await runCommand(folder, ["render", "letter.typ", "--dry-run"]);
    expect(stdout).toContain(
      `@local/letter:1.0.0, which letter.typ:1 imports, does not exist here. ${join(folder, DATA, "local/letter/1.0.0")} is a link`,
    );
    expect(stdout).not.toContain(`  ${LETTER}`);
  });

  it("if a file or a folder in it is a link that leads out; one that stays in it is followed", async () => {
    const folder = await makeProject({
      ...FILES,
      "secret/secret.txt": "secret",
      [`${DATA}/local/letter/1.0.0/lib.typ`]:
        '#(read("a.txt"), read("b/secret.txt"), read("c.txt"), read("/../../../../../../secret/secret.txt"))',
    });
    const place = join(folder, DATA, "local/letter/1.0.0");
    await symlink(join(folder, "secret/secret.txt"), join(place, "a.txt"));
    await symlink(join(folder, "secret"), join(place, "b"));
    await symlink("end.txt", join(place, "c.txt"));
    const { stdout } = await runCommand(folder, ["render", "letter.typ", "--dry-run"]);
    for (const path of ["a.txt", "b/secret.txt"]) {
      expect(stdout).toContain(`note: @local/letter:1.0.0: ${path} is not sent: it leads out of the package.`);
    }
    const keys = [...stdout.matchAll(/ {2}(packages\/local\S*)$/gm)].map(([, key]) => key);
    expect(keys).toEqual([`${LETTER}/c.txt`, `${LETTER}/lib.typ`, `${LETTER}/typst.toml`]);
  });

  it("if its manifest points outside, or excludes by a rule that takes for ever", async () => {
    for (const [entrypoint, exclude] of [
      ["../../../../../../secret.typ", ""],
      ["/etc/passwd", ""],
      ["lib.typ", `${"*a".repeat(30)}b`],
    ] as const) {
      const files = {
        ...FILES,
        "secret.typ": "secret",
        [`${DATA}/local/letter/1.0.0/typst.toml`]: `[package]\nname = "letter"\nversion = "1.0.0"\nentrypoint = "${entrypoint}"\nexclude = ["${exclude}"]\n`,
        [`${DATA}/local/letter/1.0.0/lib.typ`]: "#let f(path) = read(path)",
        [`${DATA}/local/letter/1.0.0/${"a".repeat(200)}.txt`]: "",
      };
      const { stdout, exitCode } = await inProject(files, ["render", "letter.typ", "--dry-run"]);
      expect([exitCode, stdout]).toEqual([0, expect.not.stringContaining("secret.typ\n")]);
    }
  });

  it("whatever its manifest is; and a name that no key can have gets a sentence", async () => {
    const folder = await makeProject({
      ...FILES,
      [`${DATA}/local/letter/1.0.0/lib.typ`]: '#read("my end.txt")',
      [`${DATA}/local/letter/1.0.0/my end.txt`]: "!",
      [`${CACHE}/preview/words/1.0.0/typst.toml`]: "[package",
      "words.typ": '#import "@preview/words:1.0.0"',
    });
    const letter = await runCommand(folder, ["render", "letter.typ", "--dry-run"]);
    expect(letter.stdout).toContain("note: @local/letter:1.0.0: my end.txt is not sent: a key must not contain spaces");
    const words = await runCommand(folder, ["render", "words.typ", "--dry-run"]);
    expect(words.stdout).toContain("typst.toml in ");
    expect(words.stdout).toContain(" is missing, or is not that of a package.");
  });

  it("if its folders lead in a circle", async () => {
    const folder = await makeProject({ ...FILES, [`${DATA}/local/letter/1.0.0/lib.typ`]: "#let f(path) = read(path)" });
    await mkdir(join(folder, DATA, "local/letter/1.0.0/deep"));
    await symlink("..", join(folder, DATA, "local/letter/1.0.0/deep/up"));
    expect((await runCommand(folder, ["render", "letter.typ", "--dry-run"])).exitCode).toBe(0);
  });
});

describe("with what the service has,", () => {
  it("a downloaded package is not sent, the user's own is, and --dry-run knows it from the last time", async () => {
    const { url, sent } = await startServiceWith(["words"]);
    const folder = await makeProject(FILES);
    const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: url } });
    expect((await run("render", "letter.typ")).exitCode).toBe(0);
    expect(sent()).toEqual([SENT]);
    const { stdout } = await run("render", "letter.typ", "--dry-run");
    expect(stdout).toContain("Package @preview/words:1.0.0 is not sent, because the service has it.");
    expect(stdout).not.toContain(WORDS[0]);
    expect((await run("check", "letter.typ")).exitCode).toBe(0);
  });

  it("a package that Typst has not downloaded is sent, wherever it is", async () => {
    const { url, sent } = await startServiceWith(["words"], false, "local");
    const own = {
      "letter.typ": '#import "@local/words:1.0.0": word\n#word',
      [`${CACHE}/local/words/1.0.0/typst.toml`]: manifest("words"),
      [`${CACHE}/local/words/1.0.0/lib.typ`]: '#let word = "mine"',
    };
    await inProject(own, ["render", "letter.typ"], url);
    expect(sent()).toEqual([["packages/local/words/1.0.0/lib.typ", "packages/local/words/1.0.0/typst.toml"]]);
  });

  it("a project without packages does not wait for it", async () => {
    const silent = await startScriptedService(sendPdf, undefined, () => {});
    const folder = await makeProject({ "letter.typ": "x" });
    const running = runCommand(folder, ["render", "letter.typ", "--timeout", "5"], {
      env: { SERVICE_URL: silent.url },
    });
    await expect.poll(() => silent.bodies.length).toBe(1);
    await running;
  });

  it("an older service is sent no packages, and a warning says so; --strict sends nothing", async () => {
    const { url, sent } = await startServiceWith(["words"], true);
    const { stderr } = await inProject(FILES, ["render", "letter.typ"], url);
    expect(stderr).toContain(
      "warning: The service does not have @local/letter:1.0.0, and is too old to take packages in requests",
    );
    expect(stderr).not.toContain("@preview/words");
    expect(sent()).toEqual([[]]);
    const strict = await inProject(FILES, ["render", "letter.typ", "--strict"], url);
    expect([strict.exitCode, sent().length]).toEqual([4, 1]);
  });
});

describe("a package that is nowhere", () => {
  const NOWHERE = {
    "letter.typ": '#import "template.typ": t\n#t',
    "template.typ": '\n#import "@preview/of-nobody:0.1.0": t',
    "direct.typ": '#import "@preview/of-nobody:0.1.0": t',
    "own.typ": '#import "@local/of-nobody:0.1.0": t',
  };
  const WHERE = "which template.typ:2 imports.";

  it("is named by render with who imports it and what to do; --strict sends nothing", async () => {
    const { folder, stderr, exitCode } = await inProject(NOWHERE, ["render", "letter.typ"]);
    expect(stderr).toContain(
      `warning: Neither this machine nor the service has @preview/of-nobody:0.1.0, ${WHERE} Compile once with \`typst compile\``,
    );
    expect(stderr).toContain(join(folder, CACHE));
    expect(exitCode).toBe(4);
    const { url, sent } = await startServiceWith([]);
    const strict = await inProject(NOWHERE, ["render", "letter.typ", "--strict"], url);
    expect(strict.stderr).toContain("@preview/of-nobody:0.1.0");
    expect([strict.exitCode, sent()]).toEqual([4, []]);
  });

  it("is named by check in the words of this machine, not of a download, with who imports it", async () => {
    for (const [source, name, importedBy] of [
      ["letter.typ", "@preview/of-nobody:0.1.0", "template.typ:2"],
      ["direct.typ", "@preview/of-nobody:0.1.0", "direct.typ:1"],
      ["own.typ", "@local/of-nobody:0.1.0", "own.typ:1"],
    ] as const) {
      const { stderr, exitCode } = await inProject(NOWHERE, ["check", source]);
      expect(stderr).toContain(`error: ${name} does not exist here\n`);
      expect(stderr).toContain(
        `note: Neither the service nor this machine has ${name}, which ${importedBy} imports. Co`,
      );
      expect(stderr).not.toMatch(/download package|https:|Connect/);
      expect(exitCode).toBe(4);
    }
    const { stderr } = await inProject(NOWHERE, ["check", "letter.typ"], UNREACHABLE_URL);
    expect(stderr).toContain(`note: This machine does not have @preview/of-nobody:0.1.0, ${WHERE}`);
  });

  it("is named by check with all others, those that packages import, and those whose name is computed", async () => {
    const files = { ...FILES, "letter.typ": '#import "@local/letter:1.0.0"\n#import "@preview/second:0.1.0"' };
    const { [`${CACHE}/preview/words/1.0.0/typst.toml`]: _, ...incomplete } = files;
    const { [`${CACHE}/preview/words/1.0.0/lib.typ`]: __, ...without } = incomplete;
    const { stderr } = await inProject(without, ["check", "letter.typ"]);
    expect(stderr).toContain("@preview/words:1.0.0, which @local/letter:1.0.0/lib.typ:2 imports.");
    expect(stderr).toContain("@preview/second:0.1.0, which letter.typ:2 imports.");
    const joined = await inProject({ "letter.typ": '#import "@preview/" + "third:0.1.0"' }, ["check", "letter.typ"]);
    expect(joined.stderr).toContain("has @preview/third:0.1.0, which letter.typ:1 imports. Compile once");
    const source = '#import "@preview/" + lower("THIRD:0.1.0")';
    const computed = await inProject({ "letter.typ": source }, ["check", "letter.typ"]);
    expect(computed.stderr).toContain("has @preview/third:0.1.0. Compile once");
  });
});

it("check --watch checks again when a package of the user changes", async () => {
  const folder = await makeProject({ ...FILES, "p/letter.typ": FILES["letter.typ"] });
  const watch = await startWatching(folder, ["check", "p/letter.typ"]);
  await writeFile(join(folder, DATA, "local/letter/1.0.0/lib.typ"), "#let other = 1");
  await expect.poll(() => watch.seen).toContain("unresolved import");
});
