/** The manifest of a package, `typst.toml`, as far as it decides whether the package can be used here. */
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { PACKAGE_MANIFEST_NAME } from "../../backend/typst/vendored-packages.ts";
import { compareVersions, type PackageSpec } from "../../rules/package-spec.ts";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
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

/** Why the package is refused, or the folder of its template, which is not imported; null if none. */
export function readManifest(
  spec: PackageSpec,
  files: PackageFiles,
): { readonly refusal: string } | { readonly templatePath: string | null } {
  const bytes = files.get(PACKAGE_MANIFEST_NAME);
  if (bytes === undefined) return { refusal: `it has no ${PACKAGE_MANIFEST_NAME}` };
  let content: unknown;
  try {
    content = parseToml(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return { refusal: `its ${PACKAGE_MANIFEST_NAME} is not TOML` };
  }
  const parsed = v.safeParse(manifest, content);
  if (!parsed.success) {
    // The issue's message quotes the manifest, which may hold anything, also what a terminal obeys.
    const wrong = v.getDotPath(parsed.issues[0]) ?? "";
    return { refusal: `its ${PACKAGE_MANIFEST_NAME} is not valid: ${wrong} is missing or of a wrong form` };
  }
  const { name, version, entrypoint, compiler } = parsed.output.package;
  if (name !== spec.name || version !== spec.version) return { refusal: "its manifest is that of another package" };
  if (!files.has(entrypoint.replace(/^\.?\//, ""))) return { refusal: "its entrypoint is not among its files" };
  if (compiler !== undefined && compareVersions(compiler, TYPST_VERSION) > 0) {
    const advice = "Add an older version of it, or upgrade the service";
    return { refusal: `it needs Typst ${compiler}, and this service runs ${TYPST_VERSION}. ${advice}` };
  }
  return { templatePath: parsed.output.template?.path.replace(/^\.?\//, "").replace(/\/$/, "") ?? null };
}
