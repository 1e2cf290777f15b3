/**
 * The interface of a sandbox: the paths that Typst sees in it, how Typst is started in it, how Typst ended, and why it does
 * not run. Everything that differs between the sandboxes is behind this interface.
 */
import type { TypstPaths } from "../../compile/command-line.ts";
import type { SandboxMode } from "../../machine/sandbox-modes.mjs";
import type { ProgramCommand, ProgramEnd } from "../launcher/program.ts";
import type { RenderDirectory } from "../work-directory/render-directory.ts";

export type { SandboxMode };

/** A command that runs Typst in the sandbox. */
export interface TypstCommand extends ProgramCommand {
  /** The kernel's name for Typst's process: the file name of its program. */
  readonly typstName: string;
}

/** How Typst ended by itself. */
export type TypstExit =
  | { readonly kind: "exited"; readonly exitCode: number }
  | { readonly kind: "signalled"; readonly signal: string };

/** How Typst ended, or why it never ran or its end is not known. `reason` is for the log. */
export type SandboxedEnd = TypstExit | { readonly kind: "sandbox-failed"; readonly reason: string };

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
  /** How Typst ended, by the end of the program that `programCommand` names. */
  interpretEnd(end: ProgramEnd): SandboxedEnd;
  /** Why Typst does not run in it on this machine, and what to do about it, in sentences for the operator. */
  findObstacle(): Promise<string>;
}
