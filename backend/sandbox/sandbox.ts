/**
 * What a sandbox is to the rest of the backend: how a project looks from inside it, and how Typst is started in it.
 */
import type { RenderDirectory } from "../work-directory/render-directory.ts";
import type { SandboxMode } from "./modes.mjs";

export type { SandboxMode };

/** Paths as Typst sees them. */
export interface SandboxView {
  readonly root: string;
  /** Where files of output go; null where all of it goes to standard output. */
  readonly outputDirectory: string | null;
  readonly fontPaths: readonly string[];
  readonly packagePath: string;
}

/** A program to start so that Typst runs in the sandbox. */
export interface SpawnCommand {
  /** What the kernel calls the process of Typst: the file name of its program. */
  readonly typstName: string;
  readonly file: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  /** The file that the program reads from file descriptor 3, or null. */
  readonly descriptor3Path: string | null;
  /**
   * How the end of Typst shows: `direct`, as the end of the started program itself, or `json`, as bubblewrap's status
   * reports on file descriptor 4. Only by the latter is a sandbox that failed told from a Typst that did.
   */
  readonly statusReport: "direct" | "json";
}

export interface Sandbox {
  readonly mode: SandboxMode;
  /** Writes into the work directory what launches need there, as far as it is missing. */
  prepare(): Promise<void>;
  /** Whether a process that waits still sees its project: what is removed below it in the work directory, it loses. */
  isWhole(): boolean;
  view(renderDirectory: RenderDirectory): SandboxView;
  spawnCommand(renderDirectory: RenderDirectory, typstArguments: readonly string[]): SpawnCommand;
}

/**
 * The whole environment of a render. Variables such as TYPST_FONT_PATHS or SOURCE_DATE_EPOCH change what Typst does, so
 * nothing of the host's is inherited. Times are in UTC.
 */
export const RENDER_ENVIRONMENT = { TZ: "UTC" } as const;
