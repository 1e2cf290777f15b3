/** `render`: reads what is to be sent, and sends it, or with `--dry-run` shows it. */
import { resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { documentFinisher, withEInvoiceOutput } from "../e-invoice.ts";
import { CommandError, EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { isBelow, projectFolder } from "../files/folder.ts";
import { fitFiles } from "../fit-files.ts";
import { runInterruptible } from "../interruption.ts";
import { requireFilePlace, requireOutputPlace } from "../output-file.ts";
import { extensionOf, outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { requireValidData } from "../project/data-schema.ts";
import { projectName } from "../project/project.ts";
import { readData } from "../project/request.ts";
import { completeFlags } from "../project/saved-options.ts";
import { openDocumentProject } from "../project/template-findings.ts";
import { printableLine, say } from "../terminal.ts";
import { planRender } from "./dry-run.ts";
import { checkCommand, defineRenderCommand, type RenderFlags, withOutput } from "./flags.ts";

export function addRenderCommand(program: Command, signal: AbortSignal): void {
  defineRenderCommand(program).action(async (source, place, named) => {
    const flags = completeFlags(source, withOutput(named, place));
    requireFontsBelowRoot(source, flags);
    if (flags.each === undefined) {
      process.exitCode = await render(source, flags, signal);
    } else {
      const { renderEach } = await import("./render-each.ts");
      process.exitCode = await renderEach(source, flags, signal);
    }
  });
}

/** The fonts of a document come with it; of those elsewhere, nothing would be sent. */
function requireFontsBelowRoot(source: string, { root, fontPath = [] }: RenderFlags): void {
  const top = root === undefined ? projectFolder(source) : resolve(root);
  for (const folder of fontPath) {
    if (isBelow(top, resolve(folder))) continue;
    throw new CommandError(
      printableLine(
        `--font-path ${folder} is not below ${top}: copy the fonts there, where they are found by themselves, or name a --root that holds them.`,
      ),
    );
  }
}

async function render(source: string, flags: RenderFlags, signal: AbortSignal): Promise<number> {
  for (const name of ["jobs", "overwrite", "line", "delimiter"] as const) {
    if (flags[name] !== undefined) throw new CommandError(`--${name} needs --each.`);
  }
  const outputFlags = withEInvoiceOutput(flags);
  const output = outputOf(outputFlags);
  const finish = await documentFinisher(flags);
  const place = flags.output ?? `${projectName(source)}.${extensionOf(output)}`;
  if (flags.output === undefined) await requireFilePlace(place);
  else if (place !== STANDARD_OUTPUT) await requireOutputPlace(place);
  const opened = openDocumentProject(source, flags, "render", place);
  const project = await fitFiles(opened, flags, flags.dryRun ? null : signal);
  const data = await readData(project, flags.data ?? null);
  await requireValidData(project, data, "sent");
  const planned = { project, data, output, place };
  if (flags.dryRun) return planRender(planned, flags, signal);
  const { send } = await import("./send.ts");
  const problem = await runInterruptible(() => send({ ...planned, finish }, flags, signal));
  if (problem === null) return EXIT_CODES.success;
  if (problem.code === "template_compile_failed" && !flags.json) {
    say(`  To see the error: ${checkCommand(source, outputFlags)}`);
  }
  return exitCodeOf(problem);
}
