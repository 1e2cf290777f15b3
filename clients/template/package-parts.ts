/** What a package brings for documents, by the names that authors use, and what its manifest says. */
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";

export const PACKAGE_MANIFEST = "typst.toml";

const NOT_FOR_DOCUMENTS =
  /^(?:\.|node_modules$|(?:readme|licen[cs]e|copying|changelog|changes|contributing|code_of_conduct|manual|documentation|thumbnail|justfile|makefile)(?:[._-].*)?$|(?:docs?|examples?|gallery|tests?|scripts?|tools|target)$)/i;

/** @param path in the package, with `/`; of a file or a folder */
export function isNotForDocuments(path: string): boolean {
  return path.split("/").some((name) => NOT_FOR_DOCUMENTS.test(name));
}

/** The manifest as far as programs here go by it. It may be anybody's. */
const manifest = v.object({
  package: v.object({
    name: v.string(),
    version: v.string(),
    entrypoint: v.string(),
    compiler: v.optional(v.pipe(v.string(), v.regex(/^\d{1,9}(?:\.\d{1,9}){0,2}$/))),
    /** In the syntax of `.gitignore`: what the author leaves out of the published package. */
    exclude: v.optional(v.array(v.string()), []),
  }),
  template: v.optional(
    v.object({
      path: v.optional(v.string()),
      entrypoint: v.optional(v.string()),
      thumbnail: v.optional(v.string()),
    }),
  ),
});

export type PackageManifest = v.InferOutput<typeof manifest>;

export type ReadManifest =
  | { readonly ok: true; readonly manifest: PackageManifest }
  /** `wrong` is the path of what is missing or of a wrong form; null for what is no TOML. */
  | { readonly ok: false; readonly wrong: string | null };

/** Reads a `typst.toml`. */
export function readManifest(bytes: Uint8Array): ReadManifest {
  let content: unknown;
  try {
    content = parseToml(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return { ok: false, wrong: null };
  }
  const parsed = v.safeParse(manifest, content);
  if (parsed.success) return { ok: true, manifest: parsed.output };
  return { ok: false, wrong: v.getDotPath(parsed.issues[0]) ?? "" };
}
