/** Which files the ignore files leave out: what git says, in a time that is bounded. */
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IgnoreRules } from "../../../../clients/command-line/files/ignore-rules.ts";
import { writeProject } from "../../../support/clients/command-line.ts";
import { makeTemporaryFolder } from "../../../support/temporary-folder.ts";

/** A folder with these ignore files, which is a git repository. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeTemporaryFolder("ignore-");
  spawnSync("git", ["init", "--quiet", folder]);
  await writeProject(folder, files);
  return folder;
}

function leftOut(root: string, keys: readonly string[], maxSeconds?: number): string[] {
  const kept = new Set(new IgnoreRules(root, maxSeconds).keep(keys));
  return keys.filter((key) => !kept.has(key));
}

function leftOutByGit(folder: string, keys: readonly string[]): string[] {
  const options = ["-c", "core.ignoreCase=true", "-c", "core.excludesFile=/dev/null"];
  const { stdout } = spawnSync("git", [...options, "check-ignore", "--no-index", "-z", "--stdin"], {
    cwd: folder,
    input: keys.map((key) => `${key}\0`).join(""),
    encoding: "utf8",
  });
  return stdout.split("\0").slice(0, -1);
}

const KEYS = ["a", "b", "ab", "A", "a b", "a]", "#a", "!a", "ba", "a.b", "c-d", "1"].flatMap((name) => [
  ...[name, `a/${name}`, `b/${name}`, `a/b/${name}`, `${name}/x`, `x/a/${name}/b`],
]);

describe("what is left out is what git leaves out", () => {
  it("by the files of several folders, the nearest first", async () => {
    const files = { ".gitignore": "*a*\n/b/b", "a/.gitignore": "!a", "b/.gitignore": "a\n!ab", "a/b/.gitignore": "x" };
    const folder = await folderWith(files);
    expect(leftOut(folder, KEYS)).toEqual(leftOutByGit(folder, KEYS));
    // Those of the repository hold in a project that is a folder of it. The folder itself has been named, so it counts.
    expect(leftOut(join(folder, "b"), KEYS)).toEqual(leftOutByGit(join(folder, "b"), KEYS));
    expect(leftOut(join(folder, "a"), ["c", "A", "b/x"])).toEqual(["b/x"]);
  });

  it("by any rules, in the folder and in one below it", async () => {
    const parts = ["a", "b", "*", "**", "?", "/", "!", "[a-c]", "[!b]", ".", "\\a", " ", "x", "\n", "\r\n", "-", "#"];
    const rules = fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((chosen) => chosen.join(""));
    const folder = await folderWith({ "x/b": "", "x [!]#/b": "" });
    const keys = [...KEYS, ...KEYS.map((key) => `x/${key}`), "x [!]#/b", "x [!]#/a/b", "x [!]#/x"];
    await fc.assert(
      fc.asyncProperty(rules, rules, fc.constantFrom("x", "x [!]#"), async (outer, inner, name) => {
        await writeFile(join(folder, ".gitignore"), outer);
        await writeFile(join(folder, name, ".gitignore"), inner);
        expect(leftOut(folder, keys)).toEqual(leftOutByGit(folder, keys));
      }),
      { numRuns: 30 },
    );
  });
});

it("what .renderignore says comes after what .gitignore says", async () => {
  const folder = await folderWith({ ".gitignore": "a\nb", ".renderignore": "!a\nc-d" });
  expect(leftOut(folder, ["a", "b", "c-d", "ab"])).toEqual(["b", "c-d"]);
});

it("rules that were made to take long are refused, and so is a file that is too large", async () => {
  const folder = await folderWith({ ".gitignore": `${"**/a/".repeat(60)}b\n` });
  expect(() => leftOut(folder, [`${"a/".repeat(1000)}c`], 0.5)).toThrow(
    "The rules in .gitignore and .renderignore take",
  );
  const large = await folderWith({ ".gitignore": "#".repeat(1024 ** 2 + 1) });
  expect(() => leftOut(large, ["a"])).toThrow("the limit is 1048576");
});

it("the time for the rules is that of all folders together", async () => {
  const rules = new IgnoreRules(await folderWith({ ".gitignore": "*.log" }), 0.5);
  const keepForEver = () => {
    for (let index = 0; index < 1_000_000; index++) rules.keep([`a-${index}`, `b-${index}`]);
  };
  expect(keepForEver).toThrow("take too long");
});
