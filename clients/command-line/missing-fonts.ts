/** Warns of font families that neither project nor service has: the service renders without a warning. */
import type { Capabilities } from "../../protocol/capabilities.ts";
import {
  describeMissingBold,
  describeMissingFamilies,
  findWantedFonts,
  type WantedFonts,
} from "../typescript/missing-fonts.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import type { Project } from "./project/project.ts";
import { printableLine } from "./terminal.ts";

export interface FontFindings {
  readonly warnings: readonly string[];
  /** A bold font that the project does not bring. */
  readonly notes: readonly string[];
  /** Whether the service has said which fonts it has. */
  readonly isKnown: boolean;
}

/** Packages are not looked at: they name families for cases that a document may never have. */
export function findProjectFonts({ source, files, packages }: Project): WantedFonts {
  const ofPackages = new Set(packages.found.flatMap(({ keys }) => keys.filter((key) => key.endsWith(".typ"))));
  return findWantedFonts({ source: source.toString("utf8"), files: files.filter(({ key }) => !ofPackages.has(key)) });
}

export function findMissingFonts(wanted: WantedFonts, capabilities: Capabilities | null): FontFindings {
  if (capabilities === null) return { warnings: [], notes: [], isKnown: false };
  const { fonts } = capabilities;
  return {
    warnings: describeMissingFamilies(wanted, fonts).map(printableLine),
    notes: describeMissingBold(wanted, fonts).map(printableLine),
    isKnown: true,
  };
}

/** With those of packages, which `--strict` refuses as well. */
export function addWarnings(warnings: readonly string[], fonts: FontFindings): FontFindings {
  return { ...fonts, warnings: [...warnings, ...fonts.warnings] };
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
