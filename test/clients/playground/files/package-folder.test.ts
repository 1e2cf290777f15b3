/** The folder of a Typst package in the playground: what is taken of it, and under which name. */
import { describe, expect, it } from "vitest";
import { packageOfFolder } from "../../../../clients/playground/files/package-folder.ts";

const MANIFEST =
  '# a package\n[package]\nname = "letter"\nversion = "1.2.0"\nentrypoint = "lib.typ"\n\n[template]\nname = "other"\n';

const folderOf = (files: Readonly<Record<string, string>>) =>
  Object.entries(files).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));

describe("the folder of a package", () => {
  const files = {
    "typst.toml": MANIFEST,
    "lib.typ": "",
    "src/a.typ": "",
    "src/logo.svg": "",
    "README.md": "",
    "manual.typ": "",
    "docs/a.typ": "",
    "plugin/main.rs": "",
    "plugin.wasm": "",
  };
  const needed = ["typst.toml", "lib.typ", "src/a.typ", "src/logo.svg", "plugin.wasm"];

  it("becomes files below packages/, without those that documents do not need", () => {
    const packed = packageOfFolder(folderOf(files), []);
    expect(packed?.name).toBe("@preview/letter:1.2.0");
    expect(packed?.files.map(({ path }) => path)).toEqual(
      needed.map((path) => `packages/preview/letter/1.2.0/${path}`),
    );
  });

  it("has the namespace of an import of that version", () => {
    const name = (...texts: string[]) => packageOfFolder(folderOf(files), texts)?.name;
    expect(name("x", '#import "@local/letter:1.2.0": *')).toBe("@local/letter:1.2.0");
    expect(name('#import "@local/letter:1.1.0": *')).toBe("@preview/letter:1.2.0");
  });

  it.each([
    ["with a main.typ", { ...files, "main.typ": "" }],
    ["without a manifest at its root", { "a/typst.toml": MANIFEST }],
    ["without a name", { ...files, "typst.toml": "" }],
    ["without a version", { "typst.toml": MANIFEST.replace(/version.*/, "[other]") }],
    ["with a name that is a path", { "typst.toml": MANIFEST.replace("letter", "a/../b") }],
  ])("is no package %s", (_what, entries) => {
    expect(packageOfFolder(folderOf(entries), [])).toBe(null);
  });
});
