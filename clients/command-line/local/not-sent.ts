/**
 * A file that Typst looks for, that is there, and that is not sent: nothing in the sources or the data has its name, so only
 * a compilation shows it. Typst stops at the first one.
 */
import { extname, relative } from "node:path";
import { isBelow, keyBelow, leadsToFileBelow } from "../files/folder.ts";
import type { Project } from "../project/project.ts";
import { commandToCopy, printableLine } from "../terminal.ts";
import type { Compiled } from "./compile.ts";

const NOT_FOUND = /^file not found \(searched at (.{1,4096})\)$/;

/** Sentences that name it and what to do. A link that leads out of the root is as good as missing. */
export function describeNotSent({ root, folder, files }: Project, { diagnostics }: Compiled): string[] {
  const notes = new Set<string>();
  for (const { message } of diagnostics) {
    const [, path] = NOT_FOUND.exec(message) ?? [];
    if (path === undefined || !isBelow(root, path) || !leadsToFileBelow(root, path)) continue;
    const key = keyBelow(root, path);
    if (files.some((file) => file.key === key)) continue;
    const name = relative(folder, path);
    const alike = name.replace(/[^/\\]*$/, `*${extname(name)}`);
    const [one, all] = [name, alike].map((pattern) => optionToCopy(pattern));
    notes.add(
      printableLine(
        `${key} exists but is not sent, because the template computes its name: add ${one}, or ${all} for all of its kind there.`,
      ),
    );
  }
  return [...notes];
}

function optionToCopy(pattern: string): string {
  return commandToCopy(["--files", pattern]).replace(/^.*?(?=--files)/, "");
}
