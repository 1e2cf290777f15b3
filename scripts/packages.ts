/** `npm run packages`: vendors Typst packages for `SERVICE_PACKAGE_PATH` (docs/packages-and-fonts.md). */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { readPackagesLock } from "../backend/compiler/vendored-packages.ts";
import { type PackageSpec, parsePackageSpec } from "../rules/package-spec.ts";
import { locateLocalPackage } from "./packages/local-package.ts";
import { addPackages, type Change, findProblems, installPackages, removePackages } from "./packages/package-folder.ts";
import { parseRegistry, TYPST_REGISTRY } from "./packages/registry.ts";
import { PACKAGES_FOLDER } from "./vendoring/folders.ts";
import { defineProgram, reportVerification, say } from "./vendoring/program.ts";

const PACKAGES = ["<packages...>", "such as @preview/cetz:0.3.4", collectSpecs] as const;
const REGISTRY = "the registry's address";

const { defineCommand, runCommandLine } = defineProgram(
  "packages",
  "Vendors Typst packages, and what they import, for SERVICE_PACKAGE_PATH.",
  PACKAGES_FOLDER,
);

defineCommand("add", "Download packages and everything that they import, or take them from a folder or archive.")
  .argument("<packages...>", "such as @preview/cetz:0.3.4, ./letter or file:letter-1.0.0.tar.gz", collectWanted)
  .option("--registry <url>", REGISTRY, parseRegistryOption, new URL(TYPST_REGISTRY))
  .option("--without <package>", "leave out a package that is only mentioned; may be repeated", collectSpecs, [])
  .action(async ({ specs, places }, { to, registry, without }) =>
    report(await addPackages(to, specs, { registry, without, places })),
  );

defineCommand("remove", "Remove packages, and those that only they needed.")
  .argument(...PACKAGES)
  .action(async (specs, { to }) => report(await removePackages(to, specs)));

defineCommand("install", "Download packages of the lock file that are missing or changed, and compare them with it.")
  .option("--registry <url>", `${REGISTRY}, instead of those in the lock file`, parseRegistryOption)
  .action(async ({ to, registry }) => report(await installPackages(to, registry ?? null)));

defineCommand("list", "Show what the lock file lists.").action(async ({ to }) => {
  const packages = (await readPackagesLock(to))?.packages ?? {};
  for (const [text, { requested }] of Object.entries(packages)) say(requested ? text : `${text} (imported)`);
});

defineCommand("verify", "Compare every file with the lock file.").action(async ({ to }) =>
  reportVerification(await findProblems(to), "Every package is as the lock file says."),
);

await runCommandLine();

interface WantedPackages {
  readonly specs: readonly PackageSpec[];
  readonly places: readonly URL[];
}

/** What begins with `@` is a name; a folder of that name can be written as `./@…`. */
function collectWanted(text: string, previous: WantedPackages | undefined): WantedPackages {
  const { specs, places } = previous ?? { specs: [], places: [] };
  if (text.startsWith("@")) return { specs: collectSpecs(text, [...specs]), places };
  if (!/^file:|[/\\]|^\.+$|\.tar\.gz$/i.test(text)) {
    throw new InvalidArgumentError("It must have the form @preview/name:1.2.3, ./folder or file:path.");
  }
  return { specs, places: [...places, locateLocalPackage(text)] };
}

/** For repeated arguments and options. */
function collectSpecs(text: string, previous: PackageSpec[] | undefined): PackageSpec[] {
  const spec = parsePackageSpec(text);
  if (spec === null) throw new InvalidArgumentError("It must have the form @preview/name:1.2.3.");
  return [...(previous ?? []), spec];
}

function parseRegistryOption(text: string): URL {
  try {
    return parseRegistry(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function report({ added, removed, notInRegistry }: Change): void {
  for (const text of added) say(`added ${text}`);
  for (const text of removed) say(`removed ${text}`);
  for (const text of notInRegistry) {
    say(`${text} is imported, but no registry has it: copy it to its place in the folder if it is needed.`);
  }
  if (added.length + removed.length === 0) say("Nothing to do.");
}
