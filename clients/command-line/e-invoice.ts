/** `--e-invoice`: finishes a document (docs/e-invoices.md). */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { EInvoiceFormat, Finding, ProfileName } from "../e-invoice/e-invoice.ts";
import type { RenderedFile } from "../typescript/client.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { formatOf, type OutputFlags } from "./output-options.ts";
import { printableLine } from "./terminal.ts";

const FORMATS = ["factur-x", "xrechnung"] as const satisfies readonly EInvoiceFormat[];
const PROFILES = {
  minimum: "MINIMUM",
  "basic-wl": "BASIC WL",
  basic: "BASIC",
  en16931: "EN 16931",
  extended: "EXTENDED",
} as const satisfies Record<string, ProfileName>;
const PROFILE_NAMES = Object.keys(PROFILES).filter(isProfileName);

export const E_INVOICE_OPTION = new Option(
  "--e-invoice <format>",
  "finish the PDF with its attached XML as an e-invoice; factur-x is also for ZUGFeRD",
)
  .choices(FORMATS)
  .argParser((name): EInvoiceFormat => {
    const format = FORMATS.find((known) => known === name);
    if (format !== undefined) return format;
    const isZugferd = /^zugferd/i.test(name);
    throw new InvalidArgumentError(
      isZugferd
        ? "ZUGFeRD is the same as Factur-X since 2.1: --e-invoice factur-x."
        : `Allowed choices are ${FORMATS.join(", ")}.`,
    );
  });
export const PROFILE_OPTION = new Option(
  "--profile <name>",
  "with --e-invoice factur-x: the profile that it must have",
).choices(PROFILE_NAMES);

export interface EInvoiceFlags {
  readonly eInvoice?: EInvoiceFormat | undefined;
  readonly profile?: keyof typeof PROFILES | undefined;
}

/** Finishes a document that the service has made, and adds what receivers may refuse to `notes`. @throws InvalidEInvoiceError, and what reading the document throws */
export type FinishDocument = (file: RenderedFile, notes: Set<string>) => Promise<ReadableStream<Uint8Array>>;

export class InvalidEInvoiceError extends CommandError {
  constructor(findings: readonly Finding[]) {
    const lines = [
      "The document cannot become an e-invoice, so it was not written:",
      ...findings.map(({ rule, place, message }) => `  ${rule}: ${message} (${place})`),
    ];
    super(lines.map(printableLine).join("\n"), EXIT_CODES.template, { findings });
  }
}

/** The flags for a document that can become an e-invoice: PDF/A-3b by default. */
export function withEInvoiceOutput<Flags extends OutputFlags & EInvoiceFlags>(flags: Flags): Flags {
  if (flags.eInvoice === undefined) {
    if (flags.profile !== undefined) throw new CommandError("--profile needs --e-invoice factur-x.");
    return flags;
  }
  if (flags.eInvoice === "xrechnung" && flags.profile !== undefined) {
    throw new CommandError("--profile needs --e-invoice factur-x: XRechnung is one profile.");
  }
  const format = formatOf(flags);
  if (format !== "pdf") throw new CommandError(`An e-invoice is a PDF: --e-invoice does not apply to ${format}.`);
  if (flags.standards !== undefined && !flags.standards.some((standard) => standard.startsWith("a-3"))) {
    throw new CommandError(
      "--e-invoice needs a-3b, a-3u or a-3a among --standards. Without --standards, it uses a-3b.",
    );
  }
  return { ...flags, format: "pdf", standards: flags.standards ?? ["a-3b"] };
}

/** Loads what finishes e-invoices, which few commands need; null without `--e-invoice`. */
export async function documentFinisher({ eInvoice: format, profile }: EInvoiceFlags): Promise<FinishDocument | null> {
  if (format === undefined) return null;
  const { finishEInvoice } = await import("../e-invoice/e-invoice.ts");
  const options = { format, ...(profile !== undefined && { profile: PROFILES[profile] }) };
  return async (file, notes) => {
    const finished = await finishEInvoice(await file.bytes(), options);
    if (!finished.ok) throw new InvalidEInvoiceError(finished.findings);
    for (const { place, message } of finished.notes) notes.add(printableLine(`${place}: ${message}`));
    return new Blob([finished.pdf]).stream();
  };
}

function isProfileName(name: string): name is keyof typeof PROFILES {
  return Object.hasOwn(PROFILES, name);
}
