/** A PDF as Typst itself writes it, without the service. */
import { execa } from "execa";
import type { PdfStandard } from "../../../rules/pdf-standards.ts";
import { typstPath } from "./typst-path.ts";

/** @param further options of Typst's command line */
export async function typstPdf(
  source: string,
  standards: readonly PdfStandard[],
  further: readonly string[] = [],
): Promise<Buffer> {
  const claims = standards.length === 0 ? [] : ["--pdf-standard", standards.join(",")];
  const options = ["--format", "pdf", "--ignore-system-fonts", ...claims, ...further];
  const { stdout } = await execa(typstPath(), ["compile", ...options, "-", "-"], { input: source, encoding: "buffer" });
  return Buffer.from(stdout);
}
