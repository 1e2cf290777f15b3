/**
 * The root directory that Typst sees under bubblewrap: its libraries, and empty mount points for everything else. It is made
 * once at start, because bubblewrap reads the host's mount table for each mount: mounting six libraries one by one costs 1.5
 * to 2 ms per render (measured).
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BackendSettings } from "../start/settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";

/** Paths in the sandbox. */
export const SANDBOX_PATHS = {
  typst: "/typst",
  project: "/project",
  output: "/output",
  packages: "/packages",
  font: (index: number) => `/fonts/${index}`,
} as const;

/** The only files of /sys. glibc reads them before it asks for huge pages (see `HUGE_PAGES`). */
const HUGE_PAGE_FILES = ["enabled", "hpage_pmd_size"].map((name) => `/sys/kernel/mm/transparent_hugepage/${name}`);

/** The path of the root on the host. */
export function sandboxRootPath({ workDirectory }: BackendSettings): string {
  return workDirectoryPath(workDirectory, "sandboxRoot");
}

/**
 * Makes the root in the work directory.
 *
 * @param libraries what the Typst binary loads.
 * @returns the host paths of the files in it that a render needs.
 * @throws if a file cannot be read or written.
 */
export async function makeSandboxRoot(
  settings: BackendSettings,
  libraries: readonly string[],
): Promise<readonly string[]> {
  const root = sandboxRootPath(settings);
  const made = [root];
  const makeDirectory = async (path: string) => {
    await mkdir(join(root, path), { recursive: true });
    made.push(join(root, path));
  };
  const makeFile = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    // Executable, because one of the libraries is the dynamic loader.
    await writeFile(join(root, path), content, { mode: 0o555 });
    made.push(join(root, path));
  };
  for (const path of [SANDBOX_PATHS.project, SANDBOX_PATHS.output, SANDBOX_PATHS.packages]) await makeDirectory(path);
  await makeFile(SANDBOX_PATHS.typst, "");
  for (const [index, fontPath] of settings.fontPaths.entries()) {
    const path = SANDBOX_PATHS.font(index);
    await ((await stat(fontPath)).isDirectory() ? makeDirectory(path) : makeFile(path, ""));
  }
  // Not copyFile: files of /sys report more bytes than they have, and it would wait for the missing ones.
  for (const file of libraries) await makeFile(file, await readFile(file));
  for (const file of HUGE_PAGE_FILES.filter((path) => existsSync(path))) await makeFile(file, await readFile(file));
  return made;
}
