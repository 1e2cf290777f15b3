/**
 * Compares the packages of a project with those that the service has: which of them are sent, and which are nowhere. One
 * that Typst has downloaded is not sent to a service that has it, because a published version never changes. The user's
 * own are always sent: another's of the same name and version may differ.
 */
import type { Capabilities } from "../../../protocol/capabilities.ts";
import { formatPackageSpec, REGISTRY_NAMESPACE } from "../../../rules/package-spec.ts";
import type { ProjectPackage } from "../packages/packages.ts";
import { printableLine } from "../terminal.ts";
import type { SentProject } from "./problem-details.ts";
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
  return { project: withoutPackages(project, notSent), notSent, warnings: warnings.map(printableLine) };
}

/** The same for a request that is ready to be sent. */
export function fitRequest<Sent extends SentProject>(sent: Sent, capabilities: Capabilities | null) {
  const { project, notSent, warnings } = fitToService(sent.project, capabilities);
  if (notSent.length === 0) return { sent, notSent, warnings };
  const left = keysOf(notSent);
  const files = Object.fromEntries(Object.entries(sent.request.files ?? {}).filter(([key]) => !left.has(key)));
  return { sent: { ...sent, project, request: { ...sent.request, files } }, notSent, warnings };
}

function withoutPackages(project: Project, left: readonly ProjectPackage[]): Project {
  if (left.length === 0) return project;
  const keys = keysOf(left);
  return { ...project, files: project.files.filter(({ key }) => !keys.has(key)) };
}

function keysOf(packages: readonly ProjectPackage[]): Set<string> {
  return new Set(packages.flatMap(({ keys }) => keys));
}
