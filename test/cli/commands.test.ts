/** The smaller commands, against the running service where they need one. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { constraintsDocument } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { PROGRAM, runCommand, writeProject } from "../support/command-line.ts";
import { readPdf } from "../support/pdf-reader.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { sharedService } from "../support/test-service.ts";

const env = { SERVICE_URL: (await sharedService()).edge.url.origin };

async function run(...args: string[]) {
  return runCommand(await makeTemporaryFolder("command-"), args, { env });
}

describe("init", () => {
  it("makes a folder whose README can be followed: check, one letter, all letters", async () => {
    const folder = await makeTemporaryFolder("command-");
    expect((await runCommand(folder, ["init", "post"], { env })).exitCode).toBe(0);
    const post = join(folder, "post");
    const options = { env: { ...env, XDG_CACHE_HOME: join(folder, "cache"), HOME: folder } };
    const checked = await runCommand(post, ["check", "."], options);
    expect(checked.stderr).toBe("main.typ compiles.\n");
    expect((await runCommand(post, ["render", ".", "-o", "letter.pdf"], options)).exitCode).toBe(0);
    const { pageTexts } = await readPdf(await readFile(join(post, "letter.pdf")));
    expect(pageTexts.join("").replace(/\s+/g, "")).toContain("DearAdaMarsh,");
    const all = await runCommand(post, ["render", ".", "--each", "people.jsonl", "-o", "letters/{id}.pdf"], options);
    expect(all.stderr).toBe("3 of 3 documents rendered.\n");
  });

  it("shows a command that can be copied, as this one was called", async () => {
    const folder = await makeTemporaryFolder("command-");
    const named = await runCommand(folder, ["init", "My letter"], { env });
    expect(named.stdout).toContain("\n  document-rendering render 'My letter'\n");
    const byNpx = await runCommand(folder, ["init", "post"], { env: { ...env, npm_command: "exec" } });
    expect(byNpx.stdout).toContain("\n  npx document-rendering render post\n");
  });

  it("leaves a folder alone that is not empty", async () => {
    const folder = await makeTemporaryFolder("command-");
    await writeProject(folder, { "post/mine.txt": "x" });
    const { exitCode, stderr } = await runCommand(folder, ["init", "post"]);
    expect(stderr).toBe("post is not empty.\n");
    expect(exitCode).toBe(2);
  });
});

describe("manifest", () => {
  it("lists what a document is made of, each part with its SHA-256, in the same text each time", async () => {
    const folder = await makeTemporaryFolder("command-");
    await runCommand(folder, ["init", "post"]);
    await writeProject(folder, {
      "post/letter.pdf": "%PDF",
      "post/lib/more.typ":
        '#import "@preview/chart:1.0.0": *\n// #import "@preview/none:1.0.0"\n#import "@local/own:0.1.0"',
      "packages/preview/chart/1.0.0/lib.typ": '#import "@preview/axes:0.2.0": *',
      "packages/preview/axes/0.2.0/lib.typ": "",
      "fonts/deep/A.otf": "font",
      "fonts/OFL.txt": "licence",
    });
    const options = ["--document", "post/letter.pdf", "--package-path", "packages", "--font-path", "fonts"];
    const { stdout, stderr, exitCode } = await runCommand(folder, ["manifest", "post", ...options]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const manifest = JSON.parse(stdout);
    expect(Object.keys(manifest)).toEqual([
      ...["manifest_version", "typst_version", "source", "files", "data", "fonts", "packages", "document"],
    ]);
    expect(manifest).toMatchObject({ manifest_version: 1, typst_version: TYPST_VERSION });
    const part = async (path: string, name: string) => {
      const bytes = await readFile(join(folder, path));
      return { path: name, bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") };
    };
    expect(manifest.source).toEqual(await part("post/main.typ", "main.typ"));
    expect(manifest.data).toEqual(await part("post/data.json", "data.json"));
    expect(manifest.document).toEqual(await part("post/letter.pdf", "letter.pdf"));
    expect(manifest.fonts).toEqual([await part("fonts/deep/A.otf", "deep/A.otf")]);
    expect(manifest.files.map(({ path }: { path: string }) => path)).toEqual([
      ...["assets/logo.svg", "lib/letter.typ", "lib/more.typ"],
    ]);
    const digest = (sums: string) => createHash("sha256").update(sums).digest("hex");
    const empty = digest("");
    const chart = (await part("packages/preview/chart/1.0.0/lib.typ", "")).sha256;
    expect(manifest.packages).toEqual([
      { name: "@local/own:0.1.0", sha256: null },
      { name: "@preview/axes:0.2.0", sha256: digest(`${empty}  lib.typ\n`) },
      { name: "@preview/chart:1.0.0", sha256: digest(`${chart}  lib.typ\n`) },
    ]);
    expect((await runCommand(folder, ["manifest", "post", ...options])).stdout).toBe(stdout);
  });

  it("names a document or folder that is missing", async () => {
    const folder = await makeTemporaryFolder("command-");
    await writeProject(folder, { "a.typ": "x" });
    const without = await runCommand(folder, ["manifest", "a.typ", "--document", "a.pdf"]);
    expect([without.exitCode, without.stdout, without.stderr]).toEqual([2, "", "a.pdf does not exist.\n"]);
    const fonts = await runCommand(folder, ["manifest", "a.typ", "--font-path", "nothing"]);
    expect([fonts.exitCode, fonts.stdout]).toEqual([2, ""]);
    const plain = JSON.parse((await runCommand(folder, ["manifest", "a.typ"])).stdout);
    expect(plain).toMatchObject({ files: [], data: null, fonts: [], packages: [], document: null });
  });
});

it("constraints shows the limits, and with --json the document of the service", async () => {
  const { stdout } = await run("constraints");
  expect(stdout).toMatch(/max_request_body_bytes +20,971,520 bytes/);
  const json = await run("constraints", "--json");
  expect(JSON.parse(json.stdout)).toEqual(JSON.parse(JSON.stringify(constraintsDocument(DEFAULT_LIMITS))));
});

it("vectors agrees with the service", async () => {
  const { stdout, exitCode } = await run("vectors");
  expect(stdout).toMatch(/^([0-9]+) of \1 vectors agree\n$/);
  expect(exitCode).toBe(0);
});

describe("completion", () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    it.skipIf(spawnSync(shell, ["--version"]).error !== undefined)(`is a script that ${shell} can read`, async () => {
      const { stdout: script, exitCode } = await run("completion", shell);
      expect(exitCode).toBe(0);
      expect(script).toContain("document-rendering complete");
      // A shell says so if the user's locale is not installed.
      const env = { ...process.env, LC_ALL: "C" };
      const checked = spawnSync(shell, ["-n"], { input: script, encoding: "utf8", env });
      expect(checked).toMatchObject({ status: 0, stderr: "" });
    });
  }

  it("offers in bash the words that begin like the one at the cursor", async () => {
    const { stdout: script } = await run("completion", "bash");
    // The function of the package bash-completion that the script calls, and the key that asks for completions.
    const keystroke = `
      _get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=\${words[cword]}; prev=\${words[cword-1]}; }
      document-rendering() { '${process.execPath}' '${PROGRAM}' "$@"; }
      COMP_WORDS=(document-rendering render --pa); COMP_CWORD=2
      [[ $(complete -p document-rendering) =~ -F\\ ([^ ]+) ]] && "\${BASH_REMATCH[1]}"; echo "\${COMPREPLY[*]}"`;
    const { stdout } = spawnSync("bash", { input: `${script}${keystroke}`, encoding: "utf8" });
    expect(stdout).toMatch(/--pages\b/);
    expect(stdout).not.toContain("--format");
  });

  it("offers files where a path is expected", async () => {
    const folder = await makeTemporaryFolder("command-");
    await writeProject(folder, { "letters/a.typ": "", "letters/b.typ": "", ".hidden": "" });
    const complete = async (...words: string[]) => (await runCommand(folder, ["complete", "--", ...words])).stdout;
    expect(await complete("render", "")).toMatch(/^letters\/\t\n:/);
    expect(await complete("render", "letters/a")).toMatch(/^letters\/a.typ\t\n:/);
    expect(await complete("check", "x.typ", "--data", "letters/")).toMatch(/^letters\/a.typ\t\nletters\/b.typ\t\n:/);
  });

  it("offers commands, options and values", async () => {
    expect((await run("complete", "--", "")).stdout).toContain("constraints\t");
    expect((await run("complete", "--", "render", "--pa")).stdout).toContain("--pages\t");
    expect((await run("complete", "--", "render", "--format", "")).stdout).toMatch(/^pdf\t\npng\t\nsvg\t\n/);
  });
});

it("shows its help and its version, and refuses unknown commands and options", async () => {
  const help = await run("--help");
  for (const name of ["render", "check", "init", "constraints", "vectors", "doctor", "completion"]) {
    expect(help.stdout).toMatch(new RegExp(`^  ${name} `, "m"));
  }
  expect((await run("--version")).stdout).toMatch(/^[0-9]+\.[0-9]+\.[0-9]+\n$/);
  const wrong = await run("rendr");
  expect(wrong.stderr).toContain("Did you mean render?");
  expect(wrong.exitCode).toBe(2);
});
