/**
 * The `check` command line that shows why a `render` failed, for the user to copy.
 */
import { extname } from "node:path";
import { commandToCopy } from "../terminal.ts";
import type { RenderFlags } from "./render-flags.ts";

export function checkCommand(source: string, { data, files = [], output, each, line }: RenderFlags): string {
  const parts = ["check", source];
  if (data !== undefined) parts.push("--data", data);
  for (const pattern of files) parts.push("--files", pattern);
  if (each !== undefined) parts.push("--each", each);
  if (line !== undefined) parts.push("--line", String(line));
  const extension = output === undefined ? "" : extname(output);
  if (extension !== "" && extension !== ".pdf") parts.push("--format", extension.slice(1));
  return commandToCopy(parts);
}
