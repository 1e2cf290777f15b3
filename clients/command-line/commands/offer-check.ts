/**
 * How the author of a template sees why a `render` failed: by a `check`, which is offered in a terminal and printed to
 * be copied elsewhere.
 */
import { createInterface } from "node:readline/promises";
import { formatOf, STANDARD_OUTPUT } from "../output-options.ts";
import { commandToCopy, printableLine, say } from "../terminal.ts";
import type { RenderFlags } from "./flags.ts";

/** Offers a way to see Typst's own message, which the service never passes on. */
export async function offerCheck(source: string, flags: RenderFlags, signal: AbortSignal): Promise<void> {
  if (flags.data !== STANDARD_OUTPUT && (await confirm("Compile it on this machine to see the error?"))) {
    const { checkProject } = await import("./check.ts");
    await checkProject(source, flags, signal);
    return;
  }
  say(`  To see the error: ${checkCommand(source, flags)}`);
}

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

/** Asks on the terminal; false if there is no terminal, or the input ends without an answer. */
async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Without this, the promise of a question that Ctrl+C or Ctrl+D ends would never settle.
  const ended = new AbortController();
  terminal.once("SIGINT", () => ended.abort());
  terminal.once("close", () => ended.abort());
  try {
    const answer = await terminal.question(`${printableLine(question)} [Y/n] `, { signal: ended.signal });
    return /^(y|yes)?$/i.test(answer.trim());
  } catch {
    process.stderr.write("\n");
    return false;
  } finally {
    terminal.close();
  }
}
