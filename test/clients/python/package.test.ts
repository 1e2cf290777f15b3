/** The versions of Python that can use the module for Python. */
import { glob } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { findOnPath } from "../../../typst/programs.mjs";
import { hasPython } from "../../support/clients/python-driver.ts";

const FOLDER = fileURLToPath(new URL("../../../clients/python/", import.meta.url));
const OLDEST_MINOR = 9;

const USE = `import sys
sys.path[:0] = sys.argv[1:]
import document_rendering
client = document_rendering.ServiceClient("http://127.0.0.1:1", "token", max_attempts=1)
try:
    client.render({"source": "x"})
except document_rendering.ServiceUnreachableError as error:
    print(error.reason)`;

const use = (python: string, before = "") =>
  execa(python, ["-B", "-c", `${before}\n${USE}`, FOLDER], { reject: false });

it.skipIf(!hasPython())("says which Python it needs to one that is too old", async () => {
  const old = `import sys; sys.version_info = (3, ${OLDEST_MINOR - 1}, 18); sys.version = "3.${OLDEST_MINOR - 1}.18 (main)"`;
  const { stderr } = await use("python3", old);
  expect(stderr).toMatch(/^ImportError: document_rendering needs Python 3\.9 or newer\. This is Python 3\.8\.18\.$/m);
});

/** Minor version -> program: the oldest and the newest of this machine. pyenv's are not in the path. */
async function findPythons(): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  const named = [...findOnPath("python3"), ...findOnPath(`python3.${OLDEST_MINOR}`)];
  const candidates = await Array.fromAsync(glob(join(homedir(), ".pyenv/versions/3.*/bin/python3")));
  for (const python of [...named, ...candidates]) {
    const { stdout, failed } = await execa(python, ["-c", "import sys; print(sys.version_info[1])"], { reject: false });
    if (!failed && Number(stdout) >= OLDEST_MINOR) found.set(Number(stdout), python);
  }
  const ends = new Set([Math.min(...found.keys()), Math.max(...found.keys())]);
  return new Map([...found].filter(([minor]) => ends.has(minor)));
}

it.each([...(await findPythons())])("Python 3.%i can use it", async (_minor, python) => {
  const { stdout, stderr } = await use(python);
  expect(stdout, stderr).toBe("refused");
});
