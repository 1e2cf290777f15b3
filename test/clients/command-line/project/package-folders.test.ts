/** Where Typst keeps packages, on each system and with each variable. */
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typstPackageBases } from "../../../../clients/command-line/packages/package-folders.ts";

const pathsOn = (platform: NodeJS.Platform, environment: Readonly<Record<string, string>>) =>
  typstPackageBases({ platform, environment }).map(({ path, base }) => `${base}: ${path}`);

describe("the folders of Typst's packages are", () => {
  it.each([
    ["linux", { HOME: "/h" }, "/h/.local/share/typst/packages", "/h/.cache/typst/packages"],
    ["linux", { HOME: "/h", XDG_DATA_HOME: "/d", XDG_CACHE_HOME: "/c" }, "/d/typst/packages", "/c/typst/packages"],
    // The XDG specification says to ignore them.
    ["linux", { HOME: "/h", XDG_DATA_HOME: "d" }, "/h/.local/share/typst/packages", "/h/.cache/typst/packages"],
    [
      "darwin",
      { HOME: "/h", XDG_DATA_HOME: "/d" },
      "/h/Library/Application Support/typst/packages",
      "/h/Library/Caches/typst/packages",
    ],
    ["win32", { APPDATA: "/r", LOCALAPPDATA: "/l" }, "/r/typst/packages", "/l/typst/packages"],
    ["linux", { HOME: "/h", TYPST_PACKAGE_PATH: "p" }, "p", "/h/.cache/typst/packages"],
    ["darwin", { TYPST_PACKAGE_PATH: "/p", TYPST_PACKAGE_CACHE_PATH: "/q" }, "/p", "/q"],
  ] as const)("on %s with %o", (platform, environment, user, cache) => {
    expect(pathsOn(platform, environment)).toEqual([`user: ${user}`, `typst-cache: ${cache}`]);
  });

  it("in the home folder that the system names, where the environment names none", () => {
    expect(pathsOn("linux", {})[1]).toBe(`typst-cache: ${join(homedir(), ".cache/typst/packages")}`);
  });
});
