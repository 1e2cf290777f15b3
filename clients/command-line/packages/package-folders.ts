/**
 * Where packages are on this machine: in the project's own `packages/`, as in a request, where Quarto puts them, and
 * where Typst 0.15 keeps them, in its order. A folder that is a link is not followed, because it may lead to anything.
 */
import { isAbsolute, join } from "node:path";
import {
  formatPackageSpec,
  type PackageSpec,
  REGISTRY_NAMESPACE,
  REQUEST_PACKAGES,
} from "../../../rules/package-spec.ts";
import { homeFolder } from "../../../typst/cache-folder.mjs";
import { linkStatOf } from "../files/disk.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Only Typst writes into its cache: what it has downloaded, which is the same everywhere. */
export type PackageBaseName = "project" | "user" | "typst-cache";

interface PackageBase {
  readonly path: string;
  readonly base: PackageBaseName;
}

type PackagePlace =
  | { readonly kind: "found"; readonly path: string; readonly base: PackageBaseName }
  | { readonly kind: "link"; readonly path: string }
  | { readonly kind: "absent" };

interface Machine {
  readonly environment?: Environment;
  readonly platform?: NodeJS.Platform;
}

export function typstPackageBases({
  environment = process.env,
  platform = process.platform,
}: Machine = {}): PackageBase[] {
  const { TYPST_PACKAGE_PATH, TYPST_PACKAGE_CACHE_PATH } = environment;
  const [data, cache] = userFolders(environment, platform).map((folder) => join(folder, "typst", "packages"));
  return [
    { path: TYPST_PACKAGE_PATH || (data ?? ""), base: "user" },
    { path: TYPST_PACKAGE_CACHE_PATH || (cache ?? ""), base: "typst-cache" },
  ];
}

/** The folders for data and for the cache of all programs. */
function userFolders(environment: Environment, platform: NodeJS.Platform): [string, string] {
  const { APPDATA, LOCALAPPDATA, XDG_DATA_HOME, XDG_CACHE_HOME } = environment;
  const home = homeFolder(environment);
  if (platform === "win32") {
    return [APPDATA || join(home, "AppData", "Roaming"), LOCALAPPDATA || join(home, "AppData", "Local")];
  }
  if (platform === "darwin") return [join(home, "Library", "Application Support"), join(home, "Library", "Caches")];
  // The XDG specification says to ignore a relative path.
  const folderOf = (named: string | undefined, usual: string) =>
    named !== undefined && isAbsolute(named) ? named : join(home, usual);
  return [folderOf(XDG_DATA_HOME, ".local/share"), folderOf(XDG_CACHE_HOME, ".cache")];
}

/** Where Quarto puts the packages of a project that it renders. */
const QUARTO_PACKAGES = ".quarto/typst/packages";

/** @param root of the project */
export function findPackage(spec: PackageSpec, root: string): PackagePlace {
  const own = [REQUEST_PACKAGES, QUARTO_PACKAGES].map(
    (name): PackageBase => ({ path: join(root, name), base: "project" }),
  );
  let link: PackagePlace | null = null;
  for (const { path, base } of [...own, ...typstPackageBases()]) {
    // The user's own folders may be links; a project may come from anybody.
    if (base === "project" && linkStatOf(path)?.isSymbolicLink()) {
      link = { kind: "link", path };
      continue;
    }
    const place = placeBelow(path, spec);
    if (place === "link") link ??= { kind: "link", path: pathBelow(path, spec) };
    else if (place === "folder") return { kind: "found", path: pathBelow(path, spec), base };
  }
  return link ?? { kind: "absent" };
}

function pathBelow(base: string, { namespace, name, version }: PackageSpec): string {
  return join(base, namespace, name, version);
}

function placeBelow(base: string, { namespace, name, version }: PackageSpec): "folder" | "link" | "absent" {
  let path = base;
  for (const part of [namespace, name, version]) {
    path = join(path, part);
    const found = linkStatOf(path);
    if (found?.isSymbolicLink()) return "link";
    if (!found?.isDirectory()) return "absent";
  }
  return "folder";
}

/** What a user does so that a package that is nowhere is found next time. */
export function howToProvide(spec: PackageSpec): string {
  const [own, cache] = typstPackageBases();
  const place = pathBelow(own?.path ?? "", spec);
  return spec.namespace === REGISTRY_NAMESPACE
    ? `Compile once with \`typst compile\`, which downloads it to ${cache?.path ?? ""}, or copy its folder to ${place}.`
    : `Copy its folder to ${place}, or ask the operator for ${formatPackageSpec(spec)}.`;
}
