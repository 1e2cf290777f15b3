/** Which files the ignore files leave out: what git says, in a number of steps that is bounded. */
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IgnoreRules } from "../../../clients/command-line/project/ignore-rules.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

/** A folder with these ignore files, which is a git repository. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeTemporaryFolder("ignore-");
  spawnSync("git", ["init", "--quiet", folder]);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

async function leftOut(root: string, keys: readonly string[]): Promise<string[]> {
  const rules = await IgnoreRules.load(root);
  const verdicts = await Promise.all(keys.map((key) => rules.isIgnored(key)));
  return keys.filter((_, index) => verdicts[index]);
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
  it.each([
    ["a"],
    ["/a"],
    ["a/"],
    ["a/b"],
    ["a/**"],
    ["**/b"],
    ["a/**/b"],
    ["*"],
    ["*\n!a"],
    ["*\n!*/\n!b"],
    ["a/\n!a/b"],
    ["#a\n\\#a\n\\!a"],
    ["a\\ b\na \n"],
    ["[ab]\n[!a-z]"],
    ["[]a]]\n[[:digit:]]\n[^[:alpha:]]"],
    ["a[b"],
    ["?"],
    ["A"],
    ["\ufeffa\r\nb\r\n"],
    ["*.b\nc-*"],
    ["***/a"],
    ["/\n//\n**\n!**/a"],
  ])("by %j", async (rules) => {
    const folder = await folderWith({ ".gitignore": rules });
    expect(await leftOut(folder, KEYS)).toEqual(leftOutByGit(folder, KEYS));
  });

  it("by the files of several folders, the nearest first", async () => {
    const files = { ".gitignore": "*a*\n/b/b", "a/.gitignore": "!a", "b/.gitignore": "a\n!ab", "a/b/.gitignore": "x" };
    const folder = await folderWith(files);
    expect(await leftOut(folder, KEYS)).toEqual(leftOutByGit(folder, KEYS));
    // Those of the repository hold in a project that is a folder of it. The folder itself has been named, so it counts.
    expect(await leftOut(join(folder, "b"), KEYS)).toEqual(leftOutByGit(join(folder, "b"), KEYS));
    expect(await leftOut(join(folder, "a"), ["c", "A", "b/x"])).toEqual(["b/x"]);
  });

  it("by any rules", async () => {
    const part = fc.constantFrom("a", "b", "*", "**", "?", "/", "!", "[a-c]", "[!b]", ".", "\\a", " ", "x", "\n", "-");
    const folder = await folderWith({});
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
        await writeFile(join(folder, ".gitignore"), parts.join(""));
        expect(await leftOut(folder, KEYS)).toEqual(leftOutByGit(folder, KEYS));
      }),
      { numRuns: 50 },
    );
  });
});

it("what .renderignore says comes after what .gitignore says", async () => {
  const folder = await folderWith({ ".gitignore": "a\nb", ".renderignore": "!a\nc-d" });
  expect(await leftOut(folder, ["a", "b", "c-d", "ab"])).toEqual(["b", "c-d"]);
});

describe("rules that were made to take long", () => {
  it("are matched in steps that grow with the length of the name", async () => {
    const folder = await folderWith({ ".gitignore": `${"*a".repeat(60)}*b\n${"**/a/".repeat(60)}b\n` });
    expect(await leftOut(folder, ["a".repeat(255), `${"a/".repeat(1000)}c`, `${"a".repeat(200)}b`])).toEqual([
      `${"a".repeat(200)}b`,
    ]);
  });

  it("are refused when all names together take too many steps", async () => {
    const folder = await folderWith({ ".gitignore": `${"*a".repeat(100)}*b\n`.repeat(5000) });
    await expect(
      leftOut(
        folder,
        Array.from({ length: 200 }, (_, index) => `${"a".repeat(240)}${index}`),
      ),
    ).rejects.toThrow("The rules in .gitignore and .renderignore take too long");
    const large = await folderWith({ ".gitignore": "#".repeat(1024 ** 2 + 1) });
    await expect(leftOut(large, ["a"])).rejects.toThrow("the limit is 1048576");
  });
});
