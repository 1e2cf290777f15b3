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
    compiler: v.optional(v.pipe(v.string(), v.regex(/^\d{1,9}(?:\.\d{1,9}){0,2}$/))),
  }),
  template: v.optional(v.object({ path: v.string() })),
});

const refusalOf = (title: string, reason: string) => new VendoringError(`${title} is refused: ${reason}.`);

/** @param title names the package in errors. @throws VendoringError if it has no manifest that says so */
export function readManifest(title: string, files: PackageFiles): v.InferOutput<typeof manifest> {
  const bytes = files.get(PACKAGE_MANIFEST_NAME);
  if (bytes === undefined) throw refusalOf(title, `it has no ${PACKAGE_MANIFEST_NAME}`);
  let content: unknown;
  try {
    content = parseToml(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw refusalOf(title, `its ${PACKAGE_MANIFEST_NAME} is not TOML`);
  }
  const parsed = v.safeParse(manifest, content);
  if (parsed.success) return parsed.output;
  // The issue's message quotes the manifest, which may hold anything, also what a terminal obeys.
  const wrong = v.getDotPath(parsed.issues[0]) ?? "";
  throw refusalOf(title, `its ${PACKAGE_MANIFEST_NAME} is not valid: ${wrong} is missing or of a wrong form`);
}

/** The folder of a package's template, which is not imported; null if none. @throws VendoringError if it is refused */
export function templateOfUsable(spec: PackageSpec, files: PackageFiles): string | null {
  const title = formatPackageSpec(spec);
  const { package: about, template } = readManifest(title, files);
  const { name, version, entrypoint, compiler } = about;
  if (name !== spec.name || version !== spec.version) {
    throw refusalOf(title, "its manifest is that of another package");
  }
  if (!files.has(entrypoint.replace(/^\.?\//, ""))) throw refusalOf(title, "its entrypoint is not among its files");
  if (compiler !== undefined && compareVersions(compiler, TYPST_VERSION) > 0) {
    const advice = "Add an older version of it, or upgrade the service";
    throw refusalOf(title, `it needs Typst ${compiler}, and this service runs ${TYPST_VERSION}. ${advice}`);
  }
  return template?.path.replace(/^\.?\//, "").replace(/\/$/, "") ?? null;
}
