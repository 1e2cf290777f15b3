/** The manifest of a package, `typst.toml`, as far as it decides whether the package can be used here. */
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { PACKAGE_MANIFEST_NAME } from "../../backend/typst/vendored-packages.ts";
import { compareVersions, formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { VendoringError } from "../vendoring/folder-change.ts";
import type { PackageFiles } from "./archive.ts";

const manifest = v.object({
  package: v.object({
    name: v.string(),
    version: v.string(),
    entrypoint: v.string(),
    compiler: v.optional(v.pipe(v.string(), v.regex(/^\d{1,9}(?:\.\d{1,9}){0,2}$/, "must be a version"))),
  }),
  template: v.optional(v.object({ path: v.string() })),
});

/**
 * Validates the manifest among the files of a package.
 *
 * @returns the folder of the template that the package brings, which is copied for users and not imported; null if
 *   none.
 * @throws VendoringError if it is missing, is that of another package, or needs a newer Typst.
 */
export function readManifest(spec: PackageSpec, files: PackageFiles): string | null {
  const text = formatPackageSpec(spec);
  const refuse = (reason: string) => new VendoringError(`${text} is refused: ${reason}.`);
  const bytes = files.get(PACKAGE_MANIFEST_NAME);
  if (bytes === undefined) throw refuse(`it has no ${PACKAGE_MANIFEST_NAME}`);
  const parsed = v.safeParse(manifest, parseManifest(bytes));
  if (!parsed.success) {
    // The issue's message quotes the manifest, which may hold anything, also what a terminal obeys.
    const wrong = v.getDotPath(parsed.issues[0]) ?? "";
    throw refuse(`its ${PACKAGE_MANIFEST_NAME} is not valid: ${wrong} is missing or of a wrong form`);
  }
  const { name, version, entrypoint, compiler } = parsed.output.package;
  if (name !== spec.name || version !== spec.version) throw refuse("its manifest is that of another package");
  if (!files.has(entrypoint.replace(/^\.?\//, ""))) throw refuse("its entrypoint is not among its files");
  if (compiler !== undefined && compareVersions(compiler, TYPST_VERSION) > 0) {
    throw refuse(
      `it needs Typst ${compiler}, and this service runs ${TYPST_VERSION}. Add an older version of it, or upgrade the service`,
    );
  }
  return parsed.output.template?.path.replace(/^\.?\//, "").replace(/\/$/, "") ?? null;

  function parseManifest(source: Uint8Array): unknown {
    try {
      return parseToml(new TextDecoder("utf-8", { fatal: true }).decode(source));
    } catch {
      throw refuse(`its ${PACKAGE_MANIFEST_NAME} is not TOML`);
    }
  }
}
