/** Options of `typst compile`, as READMEs of templates have them, that this command does not take: what to write instead. */
import { CommandError } from "../exit-codes.ts";

const ALWAYS_IN_PDF = "tags are always in a PDF";
const NO_BUILD = "the command is no step of a build: leave it out";

const INSTEAD: Readonly<Record<string, string>> = {
  "pdf-standard": "write --standards a-2b for PDF/A and PDF/UA, --pdf-version 1.7 for a version",
  "package-cache-path": "set TYPST_PACKAGE_CACHE_PATH to the folder",
  "ignore-embedded-fonts": "the service always has Typst's own fonts: leave it out",
  "creation-timestamp": "write #set document(date: …) in the template",
  "no-pdf-tags": `${ALWAYS_IN_PDF}: leave it out`,
  deps: NO_BUILD,
  "deps-format": NO_BUILD,
  "make-deps": NO_BUILD,
  timings: "the service does not return timings: use typst itself",
  features: "the service has none of Typst's experimental features",
  "diagnostic-format": "write --json with check",
  color: "set NO_COLOR or FORCE_COLOR",
};
const INSTEAD_FOR_RENDER: Readonly<Record<string, string>> = {
  ...INSTEAD,
  open: "write check --open",
  watch: "write check --watch",
  "package-path": "set TYPST_PACKAGE_PATH to the folder, from which packages are sent",
};

/** @throws CommandError that says what to write in place of an option of Typst */
export function explainTypstOptions(args: readonly string[]): void {
  const [command, ...others] = args;
  const instead = command === "render" ? INSTEAD_FOR_RENDER : command === "check" ? INSTEAD : {};
  const end = others.indexOf("--");
  for (const argument of end < 0 ? others : others.slice(0, end)) {
    const [, name = ""] = /^--([a-z-]+)(?:=|$)/.exec(argument) ?? [];
    const words = Object.hasOwn(instead, name) ? instead[name] : undefined;
    if (words !== undefined) throw new CommandError(`--${name} is an option of typst compile: ${words}.`);
  }
}
