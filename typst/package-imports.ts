/**
 * Which packages the files of a package import.
 *
 * Typst is not parsed. Every package in quotation marks counts, wherever it is, except in a line that is a comment, and
 * except in the template that the package brings. It is better to find too many than too few, because a missing package
 * is noticed only when a document is rendered. A name that is put together at run time is not found.
 */
import { formatPackageSpec, type PackageSpec, quotedPackageSpecs } from "../rules/package-spec.ts";

/** Each package once. */
export function importedPackages(files: ReadonlyMap<string, Uint8Array>, templatePath: string | null): PackageSpec[] {
  const found = new Map<string, PackageSpec>();
  for (const [path, bytes] of files) {
    const isTemplate = templatePath !== null && path.startsWith(`${templatePath}/`);
    if (isTemplate || !path.toLowerCase().endsWith(".typ")) continue;
    for (const spec of quotedPackageSpecs(withoutCommentLines(bytes))) found.set(formatPackageSpec(spec), spec);
  }
  return [...found.values()];
}

/** Comments that follow something are kept: `//` is also in strings and links. */
function withoutCommentLines(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^[ \t]*\/\/.*$/gm, "");
}
