/** The module for Python as `pip` installs it, and the versions of Python that can use it. */
import { glob, readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { VERSION } from "../../../clients/command-line/version.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { findOnPath } from "../../../typst/programs.mjs";
import { hasPython } from "../../support/clients/python-driver.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const FOLDER = fileURLToPath(new URL("../../../clients/python/", import.meta.url));
const MODULE = join(FOLDER, "document_rendering.py");
const OLDEST_MINOR = 9;

const CONSTRAINTS = constraintsDocument(DEFAULT_LIMITS);
const RUN_VECTORS = `import json, sys
sys.path[:0] = sys.argv[1:]
import document_rendering
print(document_rendering.run_vectors(json.load(sys.stdin)))`;

const runPython = (python: string, program: string, ...options: readonly string[]) =>
  execa(python, ["-B", "-c", program, ...options], { reject: false, input: JSON.stringify(CONSTRAINTS) });

it.skipIf(!hasPython())(
  "pip installs it, with its types and the project's version, and leaves nothing behind",
  async ({ skip }) => {
    const target = await makeTemporaryFolder("python-");
    const before = await readdir(FOLDER);
    const install = ["-m", "pip", "--retries=1", "install", "--target", target, FOLDER];
    const { stderr, failed } = await execa("python3", install, { reject: false });
    if (failed && /No module named pip/.test(stderr)) return skip("this Python has no pip");
    if (failed && /No matching distribution found for hatchling/.test(stderr)) return skip("PyPI cannot be reached");
    expect(failed, stderr).toBe(false);
    expect(await readdir(FOLDER)).toEqual(before);

    const { stdout } = await runPython(
      "python3",
      `import sys
sys.path[:0] = sys.argv[1:]
import document_rendering, importlib.metadata, pathlib
installed = pathlib.Path(document_rendering.__file__)
print(importlib.metadata.version("document-rendering"), document_rendering.__version__)
print(importlib.metadata.metadata("document-rendering")["Requires-Python"], (installed.parent / "py.typed").exists())
print(installed.read_text("utf-8"), end="")`,
      target,
    );
    expect(stdout).toBe(
      `${VERSION} ${VERSION}\n>=3.${OLDEST_MINOR} True\n${(await readFile(MODULE, "utf8")).trimEnd()}`,
    );
  },
);

it.skipIf(!hasPython())("says which Python it needs to one that is too old", async () => {
  const old = `import sys; sys.version_info = (3, ${OLDEST_MINOR - 1}, 18); sys.version = "3.${OLDEST_MINOR - 1}.18 (main)"`;
  const { stderr } = await runPython("python3", `${old}\n${RUN_VECTORS}`, FOLDER);
  expect(stderr).toMatch(/^ImportError: document_rendering needs Python 3\.9 or newer\. This is Python 3\.8\.18\.$/m);
});

/** Version -> program. Those before 3.6 cannot parse the module, and pyenv's are not in the path. */
async function findPythons(): Promise<ReadonlyMap<string, string>> {
  const names = ["python3", ...Array.from({ length: 15 }, (_, index) => `python3.${index + 6}`)];
  const candidates = names.flatMap((name) => findOnPath(name));
  for await (const python of glob(join(homedir(), ".pyenv/versions/3.*/bin/python3"))) candidates.push(python);
  const found = new Map<string, string>();
  for (const python of candidates) {
    const { stdout, failed } = await execa(python, ["-c", "import sys; print(sys.version.split()[0])"], {
      reject: false,
    });
    if (!failed && minorOf(stdout) >= 6) found.set(stdout, python);
  }
  return found;
}

function minorOf(version: string): number {
  return Number(version.split(".")[1]);
}

it.each([...(await findPythons())])(
  "Python %s agrees with every published vector, or is told that it is too old",
  async (version, python) => {
    const { stdout, stderr } = await runPython(python, RUN_VECTORS, FOLDER);
    if (minorOf(version) >= OLDEST_MINOR) expect(stdout, stderr).toBe("[]");
    else expect(stderr).toContain(`needs Python 3.${OLDEST_MINOR} or newer. This is Python ${version}.`);
  },
);
