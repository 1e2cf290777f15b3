/**
 * Compares the packages of a project with those that the service has: which of them are sent, and which are nowhere. One
 * that Typst has downloaded is not sent to a service that has it, because a published version never changes. The user's
 * own are always sent: another's of the same name and version may differ.
 */
import type { Capabilities } from "../../../protocol/capabilities.ts";
import { formatPackageSpec, REGISTRY_NAMESPACE } from "../../../rules/package-spec.ts";
import type { ProjectPackage } from "../packages/packages.ts";
import { printableLine } from "../terminal.ts";
import type { Project } from "./project.ts";

interface FittedProject {
  /** Without the files of packages that are not sent. */
  readonly project: Project;
  readonly notSent: readonly ProjectPackage[];
  /** What neither the request nor the service has, one sentence each. */
  readonly warnings: readonly string[];
}

export function importsPackages({ packages }: Project): boolean {
  return packages.found.length + packages.missing.length > 0;
}

/** @param capabilities null if the service does not say what it has: then all is sent */
export function fitToService(project: Project, capabilities: Capabilities | null): FittedProject {
  const { found, missing } = project.packages;
  if (capabilities === null || !importsPackages(project)) return { project, notSent: [], warnings: [] };
  const { packages, packages_in_files: takesPackages } = capabilities;
  const there = new Set(packages.map(formatPackageSpec));
  const isPublished = ({ spec, base }: ProjectPackage) =>
    base === "typst-cache" && spec.namespace === REGISTRY_NAMESPACE;
  const notSent = found.filter(
    (one) => one.base !== "project" && (!takesPackages || (isPublished(one) && there.has(one.name))),
  );
  const notTaken = takesPackages ? [] : found.filter(({ name }) => !there.has(name));
  const nowhere = missing.filter(({ name }) => !there.has(name));
  const warnings = [
    ...notTaken.map(
      ({ name }) =>
        `The service does not have ${name}, and is too old to take packages in requests: ask its operator to install it.`,
    ),
    ...nowhere.map(
      ({ name, importedBy, advice }) =>
        `Neither this machine nor the service has ${name}, which ${importedBy} imports. ${advice}`,
    ),
  ];
  const left = new Set(notSent.flatMap(({ keys }) => keys));
  // The same project if nothing is left out: what it sends is encoded once.
  const fitted = left.size === 0 ? project : { ...project, files: project.files.filter(({ key }) => !left.has(key)) };
  return { project: fitted, notSent, warnings: warnings.map(printableLine) };
}
