/** The command that shows the author of a template why a `render` failed, which the service never passes on. */
import { formatOf } from "../output-options.ts";
import { commandToCopy } from "../terminal.ts";
import type { RenderFlags } from "./flags.ts";

export function checkCommand(source: string, flags: RenderFlags): string {
  const { data, files = [], each, line, page, pages, ppi, archive, standards, pdfVersion } = flags;
  const parts = ["check", source];
  if (data !== undefined) parts.push("--data", data);
  for (const pattern of files) parts.push("--files", pattern);
  if (each !== undefined) parts.push("--each", each);
  if (line !== undefined) parts.push("--line", String(line));
  // What is asked for may be what cannot be made: a page that the document does not have, or a standard that it breaks.
  const format = formatOf(flags);
  if (format !== "pdf") parts.push("--format", format);
  if (page !== undefined) parts.push("--page", String(page));
  if (pages !== undefined) parts.push("--pages", pages);
  if (ppi !== undefined) parts.push("--ppi", String(ppi));
  if (archive) parts.push("--archive");
  if (standards !== undefined) parts.push("--standards", standards.join(","));
  if (pdfVersion !== undefined) parts.push("--pdf-version", pdfVersion);
  return commandToCopy(parts);
}
