/**
 * The root directory that Typst sees under bubblewrap, made once at start: mounting six libraries one by one costs 1.5
 * to 2 ms per render.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readProc } from "../processes/proc.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { stackBytes } from "./resource-limits.ts";

export const SANDBOX_PATHS = {
  typst: "/typst",
  project: "/project",
  output: "/output",
  packages: "/packages",
  font: (index: number) => `/fonts/${index}`,
} as const;

/** The only files of /sys. glibc reads them before it asks for huge pages (see `hugePages`). */
const HUGE_PAGE_FILES = ["enabled", "hpage_pmd_size"].map((name) => `/sys/kernel/mm/transparent_hugepage/${name}`);

/** The only file of /proc: glibc reads it when a program asks how large its stack is. */
const STACK_MAP_FILE = "/proc/self/maps";

/** The kernel puts stacks at random addresses in a range of this size on x86-64. On arm64 it is smaller. */
const STACK_RANGE_BYTES = 16 * 1024 ** 3;
/** More than arguments and environment take, which are between the top of the stack and its end. */
const ABOVE_STACK_BYTES = 1024 ** 2;

/**
 * A memory map in which every process finds its stack, wherever that is, because it has no /proc of its own.
 *
 * Typst asks (through the crate stacker) at the outermost function call of a document, and of each `context` and show
 * rule. If glibc does not know, stacker maps and unmaps a stack of 2 MiB for each such call: a loop of trivial calls
 * took 17 times as long.
 *
 * glibc subtracts from the limit on the stack what lies between its top and the end of its region. Each region here is
 * an eighth shorter than that limit, so glibc answers with at least an eighth, and never with more than there is. The
 * highest region comes first: glibc would take a region before it for the end of the free space.
 *
 * @param ownMap of this process, whose stack is in the same range
 */
export function stackMap(stackLimitBytes: number, ownMap: string): string {
  const ownEnd = /^[0-9a-f]+-([0-9a-f]+) .*\[stack\]$/m.exec(ownMap)?.[1];
  const regionBytes = Math.floor((stackLimitBytes / 8) * 7);
  // With a limit far below the usual 8 MiB, there would be too many regions.
  if (ownEnd === undefined || regionBytes < 4 * ABOVE_STACK_BYTES) return "";
  const center = Number.parseInt(ownEnd, 16);
  const lines: string[] = [];
  for (let end = center + STACK_RANGE_BYTES; end > center - STACK_RANGE_BYTES; end -= regionBytes - ABOVE_STACK_BYTES) {
    lines.push(`${(end - regionBytes).toString(16)}-${end.toString(16)}\n`);
  }
  return lines.join("");
}

export function sandboxRootPath({ workDirectory }: BackendSettings): string {
  return workDirectoryPath(workDirectory, "sandboxRoot");
}

/** @returns the host paths of the files in it that a render needs. */
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
  await makeFile(STACK_MAP_FILE, stackMap(stackBytes(), readProc("self/maps")));
  return made;
}
