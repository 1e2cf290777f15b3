/** Typst packages by name and version, as an import writes them: `@preview/cetz:0.3.4`. */

export interface PackageSpec {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
}

/** An identifier of Typst, in ASCII. The length is ours: a name is a folder and a part of a URL. */
const IDENTIFIER = "[A-Za-z_][A-Za-z0-9_-]{0,63}";
const NUMBER = "(?:0|[1-9][0-9]{0,8})";
const VERSION = `${NUMBER}\\.${NUMBER}\\.${NUMBER}`;
const SPEC_SOURCE = `@(${IDENTIFIER})/(${IDENTIFIER}):(${VERSION})`;
const SPEC = new RegExp(`^${SPEC_SOURCE}$`);

export const PACKAGE_IDENTIFIER_PATTERN = new RegExp(`^${IDENTIFIER}$`);
export const PACKAGE_VERSION_PATTERN = new RegExp(`^${VERSION}$`);

/** The only namespace that a registry has. Packages of others are those of a user or an operator. */
export const REGISTRY_NAMESPACE = "preview";

/** The folder in `files` that a request brings packages in, as `packages/NAMESPACE/NAME/VERSION/…`. */
export const REQUEST_PACKAGES = "packages";

export function parsePackageSpec(text: string): PackageSpec | null {
  const [, namespace, name, version] = SPEC.exec(text) ?? [];
  return namespace === undefined || name === undefined || version === undefined ? null : { namespace, name, version };
}

export function formatPackageSpec({ namespace, name, version }: PackageSpec): string {
  return `@${namespace}/${name}:${version}`;
}

/** The folder of a package in `files`. */
export function requestPackageFolder({ namespace, name, version }: PackageSpec): string {
  return [REQUEST_PACKAGES, namespace, name, version].join("/");
}

export function findQuotedSpecs(text: string): PackageSpec[] {
  const quoted = text.matchAll(new RegExp(`"(${SPEC_SOURCE})"`, "g"));
  return [...quoted].flatMap(([, spec = ""]) => parsePackageSpec(spec) ?? []);
}

/** Negative if `left` is the older of two versions, positive if it is the newer one. Missing numbers are 0. */
export function compareVersions(left: string, right: string): number {
  const [lefts, rights] = [left, right].map((version) => version.split(".").map(Number));
  for (let index = 0; index < 3; index++) {
    const difference = (lefts?.[index] ?? 0) - (rights?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function comparePackages(left: PackageSpec, right: PackageSpec): number {
  const [leftName, rightName] = [left, right].map(({ namespace, name }) => `${namespace}/${name}`);
  if (leftName === rightName) return compareVersions(left.version, right.version);
  return (leftName ?? "") < (rightName ?? "") ? -1 : 1;
}
