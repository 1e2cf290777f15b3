/**
 * Files that Typst looks for, that are there, and that are not sent: nothing in the sources or the data has their names, so
 * only a compilation shows them.
 */
import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { isBelow, keyBelow, leadsToFileBelow } from "../project/folder.ts";
import type { Project } from "../project/project.ts";
import { printableLine } from "../terminal.ts";
import type { Compiled } from "./compile.ts";

const NOT_FOUND = /^file not found \(searched at (.{1,4096})\)$/;
/** Typst stops at the first file that it does not find, so each costs a compilation. */
const MAX_COMPILATIONS = 20;

/** A sentence that names them and what to do. @param compile compiles a project that has more of them */
export async function describeNotSent(
  project: Project,
  compiled: Compiled,
  compile: (project: Project) => Promise<Compiled | null>,
): Promise<string[]> {
  const found: string[] = [];
  let files = project.files;
  for (let last: Compiled | null = compiled; last !== null && !last.ok && found.length < MAX_COMPILATIONS; ) {
    const missing = await missingButThere(project, last);
    const added = missing.filter((key) => !files.some((file) => file.key === key));
    if (added.length === 0) break;
    found.push(...added);
    const more = await Promise.all(
      added.map(async (key) => ({ key, bytes: await readFile(`${project.root}/${key}`) })),
    );
    files = [...files, ...more];
    last = await compile({ ...project, files });
  }
  if (found.length === 0) return [];
  const options = found.map((key) => `--files ${relative(project.folder, `${project.root}/${key}`)}`).join(" ");
  const [one, many] = ["exists but is not sent", "exist but are not sent"];
  const what = `${found.join(", ")} ${found.length === 1 ? one : many}`;
  const why = `the template computes ${found.length === 1 ? "its name" : "their names"}`;
  return [printableLine(`${what}, because ${why}: add ${options}`)];
}

/** The keys of files below the root. A link that leads out of it is as good as missing. */
async function missingButThere({ root }: Project, { diagnostics }: Compiled): Promise<string[]> {
  const keys = new Set<string>();
  for (const { message } of diagnostics) {
    const [, path] = NOT_FOUND.exec(message) ?? [];
    if (path === undefined || !isBelow(root, path) || !(await leadsToFileBelow(root, path))) continue;
    keys.add(keyBelow(root, path));
  }
  return [...keys];
}
