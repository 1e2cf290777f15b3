/**
 * The root directory that a render sees under bubblewrap: the libraries of Typst, and empty places where the rest is
 * mounted. Made once at start: for each mount bubblewrap reads the host's table of mounts again, so six libraries
 * mounted one by one cost every render 1.5 to 2 ms (measured).
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";

/** Paths in the sandbox. */
export const SANDBOX_PATHS = {
  typst: "/typst",
  project: "/project",
  output: "/output",
  packages: "/packages",
  font: (index: number) => `/fonts/${index}`,
} as const;

/** What glibc wants to know before it asks for huge pages (see `HUGE_PAGES`); nothing else of /sys is there. */
const HUGE_PAGE_FILES = ["enabled", "hpage_pmd_size"].map((name) => `/sys/kernel/mm/transparent_hugepage/${name}`);

/** Where the root is, once it is made. */
export function sandboxRootPath({ workDirectory }: BackendSettings): string {
  return workDirectoryPath(workDirectory, "sandboxRoot");
}

/**
 * Makes the root in the work directory.
 *
 * @param libraries what the Typst binary loads.
 * @returns the paths of all that a render needs of it, on the host.
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
    // Executable, because one of the libraries is the loader of programs.
    await writeFile(join(root, path), content, { mode: 0o555 });
    made.push(join(root, path));
  };
  for (const path of [SANDBOX_PATHS.project, SANDBOX_PATHS.output, SANDBOX_PATHS.packages]) await makeDirectory(path);
  await makeFile(SANDBOX_PATHS.typst, "");
  for (const [index, fontPath] of settings.fontPaths.entries()) {
    const path = SANDBOX_PATHS.font(index);
    await ((await stat(fontPath)).isDirectory() ? makeDirectory(path) : makeFile(path, ""));
  }
  // Read whole: files of /sys say that they are longer than they are, and copyFile waits for the rest.
  for (const file of libraries) await makeFile(file, await readFile(file));
  for (const file of HUGE_PAGE_FILES.filter((path) => existsSync(path))) await makeFile(file, await readFile(file));
  return made;
}
