/** The interface of a sandbox, behind which is everything that differs between them, and what they share. */
import { mkdir } from "node:fs/promises";
import type { TypstPaths } from "../../typst/command-line.ts";
import { runProgram } from "../../typst/programs.mjs";
import type { SandboxMode } from "../../typst/sandbox-modes.mjs";
import type { ProgramCommand } from "../launcher/program.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { RenderDirectory } from "../work-directory/render-directory.ts";

export type { SandboxMode };

export interface TypstCommand extends ProgramCommand {
  /** The kernel's name for Typst's process. */
  readonly typstName: string;
}

interface ProgramOptions {
  readonly threads?: number;
  /** Of Typst's environment, in addition to those of every render. */
  readonly variables?: Readonly<Record<string, string>>;
}

export interface Sandbox {
  readonly mode: SandboxMode;
  /** Files and directories in the work directory without which Typst does not run in the sandbox. */
  readonly workFiles: readonly string[];
  view(renderDirectory: RenderDirectory): TypstPaths;
  programCommand(
    renderDirectory: RenderDirectory,
    typstArguments: readonly string[],
    options?: ProgramOptions,
  ): TypstCommand;
  /** The programs that may fail before Typst runs. Their error messages begin with these names, unlike Typst's. */
  readonly launchers: readonly string[];
  /** Why Typst does not run in this sandbox on this machine, and what to do about it, in sentences for the operator. */
  findObstacle(): Promise<string>;
}

/** If none is set, an empty one is made, because Typst would otherwise use the user's. */
export async function preparePackageDirectory(settings: BackendSettings) {
  if (settings.packagePath !== null) return { path: settings.packagePath, workFiles: [] };
  const path = workDirectoryPath(settings.workDirectory, "emptyPackages");
  await mkdir(path, { recursive: true });
  return { path, workFiles: [path] };
}

/** The absolute paths of a program's libraries, as listed by its own loader. A static program has none. */
export async function listSharedLibraries(program: string): Promise<string[]> {
  // The loader lists what it would load and does not start the program. A static one prints its version.
  const { stdout } = await runProgram(program, ["--version"], { LD_TRACE_LOADED_OBJECTS: "1" });
  return stdout.split("\n").flatMap((line) => /\t(?:\S+ => )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}
