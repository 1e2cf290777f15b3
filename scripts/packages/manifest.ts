/** The manifest of a package, `typst.toml`, as far as it decides whether the package can be used here. */
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { PACKAGE_MANIFEST_NAME } from "../../backend/typst/vendored-packages.ts";
import { compareVersions, type PackageSpec } from "../../rules/package-spec.ts";
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

/** @param title names the package in errors. @throws VendoringError if it has no manifest that says so */
export function readNameAndVersion(title: string, bytes: Uint8Array | undefined) {
  const parsed = parseManifest(bytes);
  if ("refusal" in parsed) throw new VendoringError(`${title} is refused: ${parsed.refusal}.`);
  const { name, version } = parsed.manifest.package;
  return { name, version };
}

/** Why the package is refused, or the folder of its template, which is not imported; null if none. */
export function readManifest(
  spec: PackageSpec,
  files: PackageFiles,
): { readonly refusal: string } | { readonly templatePath: string | null } {
  const parsed = parseManifest(files.get(PACKAGE_MANIFEST_NAME));
  if ("refusal" in parsed) return parsed;
  const { name, version, entrypoint, compiler } = parsed.manifest.package;
  if (name !== spec.name || version !== spec.version) return { refusal: "its manifest is that of another package" };
  if (!files.has(entrypoint.replace(/^\.?\//, ""))) return { refusal: "its entrypoint is not among its files" };
  if (compiler !== undefined && compareVersions(compiler, TYPST_VERSION) > 0) {
    const advice = "Add an older version of it, or upgrade the service";
    return { refusal: `it needs Typst ${compiler}, and this service runs ${TYPST_VERSION}. ${advice}` };
  }
  return { templatePath: parsed.manifest.template?.path.replace(/^\.?\//, "").replace(/\/$/, "") ?? null };
}

type Manifest = v.InferOutput<typeof manifest>;

function parseManifest(bytes: Uint8Array | undefined): { readonly refusal: string } | { readonly manifest: Manifest } {
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
  return { manifest: parsed.output };
}
