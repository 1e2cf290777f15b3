/** `rename`: gives files names that can be sent, and changes the sources that read them; shown first. */
import { type Command, Option } from "@commander-js/extra-typings";
import { countInWords } from "../../typescript/size-in-words.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { FILES_OPTION, ROOT_OPTION } from "../options.ts";
import { collectProject, shownPath } from "../project/project.ts";
import { applyRenaming, planRenaming, type Renaming } from "../project/renaming.ts";
import { printableLine, say } from "../terminal.ts";

export function addRenameCommand(program: Command): void {
  program
    .command("rename")
    .summary("rename files whose names cannot be sent, and change the sources that read them")
    .description(
      "Shows which files of a project get another name, since keys have only ASCII letters, digits, dots, underscores and hyphens, and the lines of the sources that name them. Nothing is changed without --write.",
    )
    .argument("<source>", "a Typst source, or a folder")
    .addOption(FILES_OPTION)
    .addOption(ROOT_OPTION)
    .addOption(new Option("--write", "rename the files and write the sources"))
    .action(async (source, { files, root, write }) => {
      const project = await collectProject(source, {
        command: "render",
        root,
        patterns: files ?? [],
        leaveOut: [],
        data: [],
      });
      const renaming = await planRenaming(project);
      if (renaming.files.size === 0 && renaming.unnamed.length === 0) {
        say("All files have names that can be sent.");
        return;
      }
      process.stdout.write(renamingInLines(renaming, (key) => shownPath(project, key)));
      for (const key of renaming.unnamed) {
        say(
          `${shownPath(project, key)} keeps its name, because no source has it: rename it where the path is computed, or in the data.`,
        );
      }
      if (write === true) {
        await applyRenaming(project.root, renaming).catch((error: Error) => {
          throw new CommandError(printableLine(`Nothing is renamed: ${error.message}.`), EXIT_CODES.failure);
        });
      }
      const count = countInWords(renaming.files.size, "file");
      say(write === true ? `Renamed ${count}.` : `Nothing is changed. Add --write to rename ${count}.`);
    });
}

function renamingInLines({ files, sources }: Renaming, show: (key: string) => string): string {
  const lines = [...files].map(([from, to]) => `rename ${show(from)} => ${show(to)}`);
  for (const { key, lines: changed } of sources) {
    lines.push(`--- ${show(key)}`, `+++ ${show(files.get(key) ?? key)}`);
    for (const { line, before, after } of changed) lines.push(`@@ -${line} +${line} @@`, `-${before}`, `+${after}`);
  }
  return lines.map((line) => `${printableLine(line)}\n`).join("");
}
