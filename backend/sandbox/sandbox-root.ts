/**
 * The root directory that a render sees under bubblewrap: the libraries of Typst, and empty places where the rest is
 * mounted. Made once at start: for each mount bubblewrap reads the host's table of mounts again, so six libraries
 * mounted one by one cost every render 1.5 to 2 ms (measured).
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { writeMissing } from "./write-missing.ts";

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
 * Makes the root in the work directory, or what is missing of it: a cleaner of old files takes what nobody reads.
 *
 * @param libraries what the Typst binary loads.
 * @throws where a file cannot be read or written.
 */
export async function makeSandboxRoot(settings: BackendSettings, libraries: readonly string[]): Promise<void> {
  const root = sandboxRootPath(settings);
  for (const path of [SANDBOX_PATHS.project, SANDBOX_PATHS.output, SANDBOX_PATHS.packages]) {
    await mkdir(join(root, path), { recursive: true });
  }
  await writeMissing(join(root, SANDBOX_PATHS.typst), "");
  for (const [index, fontPath] of settings.fontPaths.entries()) {
    const path = join(root, SANDBOX_PATHS.font(index));
    await mkdir(dirname(path), { recursive: true });
    if ((await stat(fontPath)).isDirectory()) await mkdir(path, { recursive: true });
    else await writeMissing(path, "");
  }
  for (const file of [...libraries, ...HUGE_PAGE_FILES.filter((path) => existsSync(path))]) {
    const path = join(root, file);
    await mkdir(dirname(path), { recursive: true });
    // Read whole: files of /sys say that they are longer than they are, and copyFile waits for the rest.
    await writeMissing(path, await readFile(file));
  }
}
