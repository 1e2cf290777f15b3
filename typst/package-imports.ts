/**
 * Which packages the files of a package import: every one in quotation marks, except in lines of comments and in the
 * template that the package brings. Too many is better than too few: a missing one is noticed only in a render.
 */
import { findQuotedSpecs, formatPackageSpec, type PackageSpec } from "../rules/package-spec.ts";

export function findImports(files: ReadonlyMap<string, Uint8Array>, templatePath: string | null): PackageSpec[] {
  const found = new Map<string, PackageSpec>();
  for (const [path, bytes] of files) {
    const isTemplate = templatePath !== null && path.startsWith(`${templatePath}/`);
    if (isTemplate || !path.toLowerCase().endsWith(".typ")) continue;
    for (const spec of findQuotedSpecs(removeCommentLines(bytes))) found.set(formatPackageSpec(spec), spec);
  }
  return [...found.values()];
}

/** Comments that follow something are kept: `//` is also in strings and links. */
function removeCommentLines(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^[ \t]*\/\/.*$/gm, "");
}
