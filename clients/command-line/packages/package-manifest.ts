/** The manifest of a package, `typst.toml`, as far as it decides which of its files are sent. It may be anybody's. */
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";

export const MANIFEST_NAME = "typst.toml";

const manifest = v.object({
  package: v.object({
    name: v.string(),
    version: v.string(),
    entrypoint: v.string(),
    /** In the syntax of `.gitignore`: what the author leaves out of the published package. */
    exclude: v.optional(v.array(v.string()), []),
  }),
  template: v.optional(v.object({ path: v.optional(v.string()), thumbnail: v.optional(v.string()) }), {}),
});

export type PackageManifest = v.InferOutput<typeof manifest>;

/** Null if Typst could not use it either. */
export function parseManifest(bytes: Uint8Array): PackageManifest | null {
  try {
    return v.parse(manifest, parseToml(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    return null;
  }
}
