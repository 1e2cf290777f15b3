/** What a package brings for documents, by the names that authors use, and what it brings beside. */
import { type PackageSpec, parsePackageSpec } from "../../rules/package-spec.ts";

export const PACKAGE_MANIFEST = "typst.toml";

const NOT_FOR_DOCUMENTS =
  /^(?:\.|node_modules$|(?:readme|licen[cs]e|copying|changelog|changes|contributing|code_of_conduct|manual|documentation|thumbnail|justfile|makefile)(?:[._-].*)?$|(?:docs?|examples?|gallery|tests?|scripts?|tools|target)$)/i;

/** @param path in the package, with `/`; of a file or a folder */
export function isNotForDocuments(path: string): boolean {
  return path.split("/").some((name) => NOT_FOR_DOCUMENTS.test(name));
}

/** Kinds of files that Typst reads, but for PDFs, which are manuals unless a source names them. */
const READABLE = /\.(?:png|jpe?g|gif|webp|svg|json|csv|tsv|toml|ya?ml|xml|cbor|bib|csl|wasm|txt|tmtheme|ftl|typ)$/i;

export function isReadableByTypst(path: string): boolean {
  return READABLE.test(path);
}

/**
 * The name and version in a `typst.toml`, for programs without a reader of TOML; null if they are not found. The
 * manifest knows no namespace.
 */
export function packageOfManifest(text: string, namespace: string): PackageSpec | null {
  const [, table = ""] = /^\s*\[package\]\s*$([\s\S]*?)(?=^\s*\[|$(?![\s\S]))/m.exec(text) ?? [];
  const textOf = (key: string) => new RegExp(`^\\s*${key}\\s*=\\s*["']([^"'\\n]{1,64})["']`, "m").exec(table)?.[1];
  return parsePackageSpec(`@${namespace}/${textOf("name")}:${textOf("version")}`);
}
