/** The manifest of a package, `typst.toml`, as far as it decides whether the package can be used here. */
import { PACKAGE_MANIFEST, type PackageManifest, readManifest } from "../../clients/template/package-parts.ts";
import { compareVersions, formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { VendoringError } from "../vendoring/folder-change.ts";
import type { PackageFiles } from "./archive.ts";

const refusalOf = (title: string, reason: string) => new VendoringError(`${title} is refused: ${reason}.`);

/** @param title names the package in errors. @throws VendoringError if it has no manifest that says so */
export function manifestOf(title: string, files: PackageFiles): PackageManifest {
  const bytes = files.get(PACKAGE_MANIFEST);
  if (bytes === undefined) throw refusalOf(title, `it has no ${PACKAGE_MANIFEST}`);
  const read = readManifest(bytes);
  if (read.ok) return read.manifest;
  if (read.wrong === null) throw refusalOf(title, `its ${PACKAGE_MANIFEST} is not TOML`);
  // A message of the reader would quote the manifest, which may hold anything, also what a terminal obeys.
  throw refusalOf(title, `its ${PACKAGE_MANIFEST} is not valid: ${read.wrong} is missing or of a wrong form`);
}

/** The folder of a package's template, which is not imported; null if none. @throws VendoringError if it is refused */
export function templateOfUsable(spec: PackageSpec, files: PackageFiles): string | null {
  const title = formatPackageSpec(spec);
  const { package: about, template } = manifestOf(title, files);
  const { name, version, entrypoint, compiler } = about;
  if (name !== spec.name || version !== spec.version) {
    throw refusalOf(title, "its manifest is that of another package");
  }
  if (!files.has(entrypoint.replace(/^\.?\//, ""))) throw refusalOf(title, "its entrypoint is not among its files");
  if (compiler !== undefined && compareVersions(compiler, TYPST_VERSION) > 0) {
    const advice = "Add an older version of it, or upgrade the service";
    throw refusalOf(title, `it needs Typst ${compiler}, and this service runs ${TYPST_VERSION}. ${advice}`);
  }
  return template?.path?.replace(/^\.?\//, "").replace(/\/$/, "") ?? null;
}
