/**
 * Programs that stand in for Typst to show faults that the real one cannot be made to show: exits, signals, hangs.
 *
 * Each is a shell script in a temporary folder, where it also writes what the test needs to know.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { makeTemporaryFolder } from "../temporary-folder.ts";

/** Typst's answers to `--version` and `fonts` (it has none), for a backend that starts as a program. */
export const VERSION_ANSWER = 'case "$1" in --version) echo "typst 0.15.1"; exit 0;; fonts) exit 0;; esac';

/**
 * Shell code that waits for `signal(name)`. It gives up when the test has finished, or after a quarter of an hour. A
 * shorter sleep would keep the machine busy where many wait.
 */
export const waitFor = (name: string) =>
  `while [ ! -e "$here/${name}" ] && [ -d "$here" ] && [ $((rounds += 1)) -lt 9000 ]; do sleep 0.1; done`;

/** Text that a fake writes to standard error and that must never leave the backend. */
const DIAGNOSTIC = "error: SECRET-DIAGNOSTIC at /secret/path.typ:1:1";

/**
 * Writes a fake Typst that is removed when the test has finished. In the script, `$here` is its folder and `$target`
 * the path of its output, `-` for standard output.
 */
export async function makeFakeTypst(script: string) {
  const folder = await makeTemporaryFolder("fake-typst-");
  const path = join(folder, "typst");
  const head = ["#!/bin/sh", `here='${folder}'`, "for target; do :; done", `echo '${DIAGNOSTIC}' >&2`];
  await writeFile(path, `${head.join("\n")}\n${script}\n`, { mode: 0o755 });
  return {
    path,
    /** Creates the file of that name in the program's folder, as a signal to the script. */
    signal: (name: string) => writeFile(join(folder, name), ""),
    /** The content of a file that the script wrote into its folder, or null if there is none. */
    read: (name: string) => readFile(join(folder, name), "utf8").catch(() => null),
  };
}

/** Waits for the process ids that a fake Typst writes into files of these names. */
export async function writtenPids(
  typst: Awaited<ReturnType<typeof makeFakeTypst>>,
  ...names: readonly string[]
): Promise<number[]> {
  const read = () => Promise.all(names.map(async (name) => Number((await typst.read(name))?.trim() || Number.NaN)));
  await expect.poll(async () => (await read()).every(Number.isInteger)).toBe(true);
  return read();
}
