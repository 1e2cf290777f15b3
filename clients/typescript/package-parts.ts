/** What a package brings beside what documents need, by the names that authors use. */

const NOT_FOR_DOCUMENTS =
  /^(?:\.|node_modules$|(?:readme|licen[cs]e|copying|changelog|changes|contributing|code_of_conduct|manual|documentation|thumbnail|justfile|makefile)(?:[._-].*)?$|(?:docs?|examples?|gallery|tests?|scripts?|tools|target)$)/i;

/** @param path in the package, with `/`; of a file or a folder */
export function isNotForDocuments(path: string): boolean {
  return path.split("/").some((name) => NOT_FOR_DOCUMENTS.test(name));
}
