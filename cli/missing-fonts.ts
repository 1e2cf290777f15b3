/**
 * Warns of fonts and characters that neither the project nor the service has, according to the capabilities that the service
 * publishes. The service itself renders such a document without a warning.
 */
import { describeMissing, missingFonts } from "../client/missing-fonts.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import type { Project } from "./project/project.ts";
import { serviceCapabilities } from "./service-capabilities.ts";
import { printableLine } from "./terminal.ts";

export interface FontFindings {
  /** One sentence for each family, and one for all characters together. */
  readonly warnings: readonly string[];
  /** Whether the service has said which fonts it has. */
  readonly isKnown: boolean;
}

/**
 * Compares a project with the service.
 *
 * @param data JSON texts: one for each document.
 */
export async function findMissingFonts(
  project: Project,
  data: readonly string[],
  url: string,
  signal: AbortSignal,
): Promise<FontFindings> {
  const capabilities = await serviceCapabilities(url, signal);
  if (capabilities === null) return { warnings: [], isKnown: false };
  const source = project.source.toString("utf8");
  const missing = missingFonts({ source, files: project.files, data: data.join("\n") }, capabilities.fonts);
  return { warnings: describeMissing(missing).map(printableLine), isKnown: true };
}

/** For `--strict`. @throws CommandError when something is missing, or the service does not say which fonts it has */
export function requireFonts({ warnings, isKnown }: FontFindings, url: string): void {
  if (!isKnown) {
    const message = `${url} does not say which fonts it has, so --strict cannot compare them: nothing was sent.`;
    throw new CommandError(message, EXIT_CODES.unreachable);
  }
  if (warnings.length === 0) return;
  throw new CommandError(`${warnings.join("\n")}\nNothing was sent, because of --strict.`, EXIT_CODES.template);
}
