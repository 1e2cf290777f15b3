/**
 * The interface of a sandbox: the paths that Typst sees in it, how Typst is started in it, how Typst ended, and why it
 * does not run. Everything that differs between the sandboxes is behind this interface; what they share is below it.
 */
import { mkdir } from "node:fs/promises";
import type { TypstPaths } from "../../typst/command-line.ts";
import type { SandboxMode } from "../../typst/sandbox-modes.mjs";
import type { ProgramCommand, ProgramEnd } from "../launcher/program.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { RenderDirectory } from "../work-directory/render-directory.ts";

export type { SandboxMode };

/** A command that runs Typst in the sandbox. */
export interface TypstCommand extends ProgramCommand {
  /** The kernel's name for Typst's process: the file name of its program. */
  readonly typstName: string;
}

export interface Sandbox {
  readonly mode: SandboxMode;
  /** Files and directories in the work directory without which Typst does not run in the sandbox. */
  readonly workFiles: readonly string[];
  view(renderDirectory: RenderDirectory): TypstPaths;
  /** @param variables environment variables of Typst, in addition to those of every render. */
  programCommand(
    renderDirectory: RenderDirectory,
    typstArguments: readonly string[],
    variables?: Readonly<Record<string, string>>,
  ): TypstCommand;
  /**
   * The programs that may fail before Typst runs. Their error messages begin with these names; Typst's begin
   * differently.
   */
  readonly launchers: readonly string[];
  /** Why Typst does not run in this sandbox on this machine, and what to do about it, in sentences for the operator. */
  findObstacle(): Promise<string>;
}

/**
 * With these codes, launchers and the dynamic loader report a program that cannot be run. Typst exits with 0, 1 or 2.
 */
const LAUNCH_FAILURE_EXIT_CODES: readonly number[] = [126, 127];

/**
 * How Typst ended, by how the program of `programCommand` did: its launchers replace themselves with Typst, or end as
 * it does. If one of them has failed, so has the program.
 */
export function endOfTypst(end: ProgramEnd, { launchers }: Pick<Sandbox, "launchers">): ProgramEnd {
  if (end.kind !== "exited") return end;
  const hasComplained = launchers.some((name) => end.diagnostics.startsWith(`${name}: `));
  if (!hasComplained && !LAUNCH_FAILURE_EXIT_CODES.includes(end.exitCode)) return end;
  return { kind: "failed", reason: `exit code ${end.exitCode}` };
}

export interface PackageDirectory {
  readonly path: string;
  /** Its paths in the work directory. */
  readonly workFiles: readonly string[];
}

/**
 * The operator's folder of packages. If none is set, an empty one is made, because Typst would otherwise use the
 * user's.
 */
export async function preparePackageDirectory(
  settings: Pick<BackendSettings, "packagePath" | "workDirectory">,
): Promise<PackageDirectory> {
  if (settings.packagePath !== null) return { path: settings.packagePath, workFiles: [] };
  const path = workDirectoryPath(settings.workDirectory, "emptyPackages");
  await mkdir(path, { recursive: true });
  return { path, workFiles: [path] };
}
