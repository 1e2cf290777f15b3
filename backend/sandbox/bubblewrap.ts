/**
 * The bubblewrap sandbox: new namespaces of every kind, no capabilities, and a file system that has only the render's
 * output directory and, read-only, its files and Typst with its libraries, fonts and packages.
 */
import { basename } from "node:path";
import { RENDER_ENVIRONMENT, type TypstPaths } from "../../typst/command-line.ts";
import { hasMadeEmptySandbox, NAMESPACE_ARGUMENTS, NETWORK_ARGUMENT } from "../../typst/sandbox-modes.mjs";
import type { Launcher } from "../launcher/launcher.ts";
import { INHERITED_DESCRIPTOR } from "../launcher/program.ts";
import type { BackendSettings } from "../settings.ts";
import { describeBubblewrapObstacle, findBubblewrapFacts } from "./bubblewrap-obstacle.ts";
import { chooseResourceLimits } from "./resource-limits.ts";
import { listSharedLibraries, type Sandbox } from "./sandbox.ts";
import { makeSandboxRoot, SANDBOX_PATHS, sandboxRootPath } from "./sandbox-root.ts";
import { writeSeccompFilter } from "./seccomp.ts";
import { tryProgram } from "./trial.ts";

/**
 * A Typst linked with glibc then extends its heap in steps of 16 MiB, in huge pages if the host offers them: a third
 * fewer page faults, 5 to 8 % less time for the invoice of `examples/`. Others ignore it. Each thread
 * has a heap of its own, and would take a huge page of 2 MiB while its process waits: with several, steps are smaller.
 */
function hugePages(threads: number) {
  return {
    GLIBC_TUNABLES: `glibc.malloc.hugetlb=1:glibc.malloc.top_pad=${threads === 1 ? 16 * 1024 ** 2 : 1024 ** 2}`,
  };
}

export async function openBubblewrap(settings: BackendSettings, launcher: Launcher): Promise<Sandbox> {
  const seccompPath = await writeSeccompFilter(settings);
  const rootFiles = await makeSandboxRoot(settings, await listSharedLibraries(settings.typstPath));
  const fontPaths = settings.fontPaths.map((_, index) => SANDBOX_PATHS.font(index));
  const commonArguments = [
    ...NAMESPACE_ARGUMENTS,
    ...(launcher.hasEmptyNetworks ? [] : [NETWORK_ARGUMENT]),
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
    "--clearenv",
    ...["--seccomp", String(INHERITED_DESCRIPTOR)],
    ...bindReadOnly(sandboxRootPath(settings), "/"),
    ...bindReadOnly(settings.typstPath, SANDBOX_PATHS.typst),
    ...(settings.packagePath === null ? [] : bindReadOnly(settings.packagePath, SANDBOX_PATHS.packages)),
    ...settings.fontPaths.flatMap((path, index) => bindReadOnly(path, SANDBOX_PATHS.font(index))),
  ];
  const limitCommands = await chooseResourceLimits(settings);

  return {
    mode: "bubblewrap",
    // If bubblewrap is killed itself, that counts as an end of Typst.
    launchers: ["bwrap"],
    workFiles: [seccompPath, ...rootFiles],
    view: ({ outputDirectory }): TypstPaths => ({
      root: SANDBOX_PATHS.project,
      outputDirectory: outputDirectory === null ? null : SANDBOX_PATHS.output,
      fontPaths,
      packagePath: SANDBOX_PATHS.packages,
    }),
    programCommand: (renderDirectory, typstArguments, { threads = 1, variables } = {}) => ({
      typstName: basename(SANDBOX_PATHS.typst),
      setUpCommands: limitCommands(threads),
      file: settings.bubblewrapPath,
      arguments: [
        ...commonArguments,
        ...Object.entries({ ...RENDER_ENVIRONMENT, ...hugePages(threads), ...variables }).flatMap(([name, value]) => [
          "--setenv",
          name,
          value,
        ]),
        ...bindReadOnly(renderDirectory.root, SANDBOX_PATHS.project),
        ...(renderDirectory.outputDirectory === null
          ? []
          : ["--bind", renderDirectory.outputDirectory, SANDBOX_PATHS.output]),
        ...["--chdir", SANDBOX_PATHS.project],
        "--",
        SANDBOX_PATHS.typst,
        ...typstArguments,
      ],
      // The environment of bubblewrap, which sets that of Typst.
      environment: {},
      workingDirectory: renderDirectory.root,
      inheritedFile: seccompPath,
    }),
    findObstacle: async () => describeBubblewrapObstacle(await findBubblewrapFacts(settings)),
  };
}

function bindReadOnly(source: string, target: string): string[] {
  return ["--ro-bind", source, target];
}

/**
 * The beginning of a command that gives each shell of the launcher an empty network (docs/decisions/one-process-per-render.md#resident-shells-start-typst). No
 * two renders share it: a shell runs one program at a time. Empty where that does not work, or without bubblewrap.
 */
export async function findEmptyNetwork({
  sandboxChoice,
  unsharePath,
  bubblewrapPath,
}: BackendSettings): Promise<readonly string[]> {
  if (sandboxChoice === "landlock" || sandboxChoice === "none") return [];
  const options = ["--user", "--map-current-user", "--net", "--"];
  const emptySandbox = [bubblewrapPath, ...NAMESPACE_ARGUMENTS, "--clearenv", "--", "/none"];
  const trial = await tryProgram(unsharePath, [...options, ...emptySandbox]);
  const isMade = trial.kind === "fails" && hasMadeEmptySandbox(trial.complaint);
  return isMade ? [unsharePath, ...options] : [];
}
