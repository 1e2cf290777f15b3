/** The options of `check` and `render`, with and without `--each`. */
import type { EInvoiceFlags } from "../e-invoice.ts";
import type { OperatorFlags } from "../local/operator-folders.ts";
import { formatOf, type OutputFlags } from "../output-options.ts";
import type { ServiceOptions } from "../service-location.ts";
import { commandToCopy } from "../terminal.ts";

interface ProjectFlags extends OutputFlags {
  readonly data?: string | undefined;
  readonly each?: string | undefined;
  readonly line?: number | undefined;
  readonly files?: readonly string[] | undefined;
  readonly json?: true | undefined;
  readonly strict?: true | undefined;
}

export interface CheckFlags extends ProjectFlags, OperatorFlags {
  readonly typst?: string | undefined;
  readonly url?: string | undefined;
  readonly watch?: true | undefined;
  readonly open?: true | undefined;
}

export interface RenderFlags extends ProjectFlags, EInvoiceFlags, ServiceOptions {
  /** In seconds. */
  readonly timeout?: number | undefined;
  readonly verbose?: true | undefined;
  readonly dryRun?: true | undefined;
  readonly jobs?: number | undefined;
  readonly overwrite?: true | undefined;
}

/** With `--each`: the most requests at the same time. */
export const DEFAULT_JOBS = 8;

/** The command that shows the author of a template why a `render` failed, which the service never passes on. */
export function checkCommand(source: string, flags: RenderFlags): string {
  const { data, files, each, line, page, pages, ppi, archive, standards, pdfVersion } = flags;
  // What is asked for may be what cannot be made: a page that the document does not have, or a standard that it breaks.
  const format = formatOf(flags) === "pdf" ? undefined : formatOf(flags);
  const output = { format, page, pages, ppi, archive, standards: standards?.join(","), "pdf-version": pdfVersion };
  const named = Object.entries({ data, files, each, line, ...output }).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return value === true ? [`--${name}`] : [value].flat().flatMap((one) => [`--${name}`, String(one)]);
  });
  return commandToCopy(["check", source, ...named]);
}
