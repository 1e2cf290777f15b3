/** The module for Python as `pip` installs it from a checkout. A deployment's own package is tested at each change. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { VERSION } from "../../../clients/command-line/version.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const FOLDER = fileURLToPath(new URL("../../../clients/python/", import.meta.url));

it("has its types and the project's version, and leaves nothing behind", async () => {
  const target = await makeTemporaryFolder("python-");
  const before = await readdir(FOLDER);
  await execa("python3", ["-m", "pip", "--retries=1", "install", "--target", target, FOLDER]);
  expect(await readdir(FOLDER)).toEqual(before);
  const { stdout } = await execa("python3", [
    "-B",
    "-c",
    `import sys
sys.path[:0] = sys.argv[1:]
import document_rendering, importlib.metadata, pathlib
installed = pathlib.Path(document_rendering.__file__)
print(importlib.metadata.version("document-rendering"), document_rendering.__version__)
print(importlib.metadata.metadata("document-rendering")["Requires-Python"], (installed.parent / "py.typed").exists())
print(importlib.metadata.metadata("document-rendering")["License-File"])
print(installed.read_text("utf-8"), end="")`,
    target,
  ]);
  const module = await readFile(join(FOLDER, "document_rendering.py"), "utf8");
  expect(stdout).toBe(`${VERSION} ${VERSION}\n>=3.9 True\nLICENSE\n${module.trimEnd()}`);
});
