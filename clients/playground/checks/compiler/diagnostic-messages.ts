/** The compiler's messages in the words of the page. */
import { closestPath, didYouMean } from "../../../data-schema/closest-path.ts";

/** What only this browser lacks: the deployment may have the package, and has all of Typst's fonts. */
const UNKNOWABLE = /^(?:no font could be found|package not found|failed to load package)/;
const NO_FILE = /^failed to load file/;
/** How the compiler writes the root of the project. */
const PROJECT_ROOT = /@ws\/p0:0\.0\.0\//g;

/**
 * A sentence for a diagnostic; null if the page cannot know whether it is one.
 *
 * @param text what stands at the place of the diagnostic
 */
export function describeDiagnostic(
  message: string,
  text: string,
  files: readonly { readonly key: string }[],
): string | null {
  if (UNKNOWABLE.test(message)) return null;
  if (NO_FILE.test(message)) return describeMissingFile(text, files);
  const [first = "", ...hints] = message.replace(PROJECT_ROOT, "").split(", hints: ");
  return [`${capitalized(first)}.`, ...hints.map((hint) => `Hint: ${hint}.`)].join(" ");
}

function describeMissingFile(text: string, files: readonly { readonly key: string }[]): string {
  const path = /^"([^"\\]+)"$/.exec(text)?.[1];
  if (path === undefined) return "The project has no such file.";
  const keys = files.map(({ key }) => key);
  return `The project has no file “${path}”.${didYouMean(closestPath(path.replace(/^\//, ""), keys))}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
