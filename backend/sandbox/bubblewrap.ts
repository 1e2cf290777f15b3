/**
 * The bubblewrap sandbox: new namespaces of every kind, no capabilities, and a file system with the render's output
 * directory and, read-only, Typst, its libraries, fonts and packages and the files of the render.
 */
import { constants } from "node:os";
import { basename } from "node:path";
import type { BackendSettings } from "../settings.ts";
import { type ExtraDescriptor, FIRST_EXTRA_DESCRIPTOR, type ProgramEnd } from "../spawner/messages.ts";
import { NAMESPACE_ARGUMENTS } from "./bubblewrap-needs.mjs";
import { describeBubblewrapObstacle, findBubblewrapFacts } from "./bubblewrap-obstacle.ts";
import { hasFailedToLaunch, sandboxFailed } from "./launch-end.ts";
import { LIMITER_NAME, resourceLimitCommand } from "./resource-limits.ts";
import { RENDER_ENVIRONMENT, type Sandbox, type SandboxedEnd, type SandboxView } from "./sandbox.ts";
import { makeSandboxRoot, SANDBOX_PATHS, sandboxRootPath } from "./sandbox-root.ts";
import { writeSeccompFilter } from "./seccomp-filter-file.ts";
import { sharedLibraries } from "./shared-libraries.ts";

/**
 * With this variable, a Typst that is linked with glibc extends its heap in steps of 16 MiB, and in huge pages if the host
 * offers them. The invoice of `examples/` then has a third fewer page faults and takes 5 to 8 % less time (measured). The
 * cost is one step of address space per render. Other builds ignore the variable.
 */
const HUGE_PAGES = { GLIBC_TUNABLES: "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216" } as const;

const SECCOMP_DESCRIPTOR = FIRST_EXTRA_DESCRIPTOR;
const REPORT_DESCRIPTOR = FIRST_EXTRA_DESCRIPTOR + 1;

/** The programs that may fail before Typst runs. Their error messages begin with these names. */
const LAUNCHERS = [LIMITER_NAME, "bwrap"];
/** What bubblewrap adds to the number of the signal that ended its child. */
const SIGNAL_EXIT_CODE_BASE = 128;
const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** The sandbox, with its root and its filter written into the work directory. */
export async function openBubblewrap(settings: BackendSettings): Promise<Sandbox> {
  const seccompPath = await writeSeccompFilter(settings);
  const rootFiles = await makeSandboxRoot(settings, await sharedLibraries(settings.typstPath));
  const fontPaths = settings.fontPaths.map((_, index) => SANDBOX_PATHS.font(index));
  const environment = { ...RENDER_ENVIRONMENT, ...HUGE_PAGES };
  const commonArguments = [
    ...NAMESPACE_ARGUMENTS,
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
    "--clearenv",
    ...["--seccomp", String(SECCOMP_DESCRIPTOR), "--json-status-fd", String(REPORT_DESCRIPTOR)],
    ...readOnly(sandboxRootPath(settings), "/"),
    ...readOnly(settings.typstPath, SANDBOX_PATHS.typst),
    ...(settings.packagePath === null ? [] : readOnly(settings.packagePath, SANDBOX_PATHS.packages)),
    ...settings.fontPaths.flatMap((path, index) => readOnly(path, SANDBOX_PATHS.font(index))),
  ];
  // In the order of the two descriptors above.
  const extraDescriptors: readonly ExtraDescriptor[] = [{ kind: "file", path: seccompPath }, { kind: "report" }];
  const [file = "", ...limitArguments] = resourceLimitCommand(settings);

  return {
    mode: "bubblewrap",
    workFiles: [seccompPath, ...rootFiles],
    view: ({ outputDirectory }): SandboxView => ({
      root: SANDBOX_PATHS.project,
      outputDirectory: outputDirectory === null ? null : SANDBOX_PATHS.output,
      fontPaths,
      packagePath: SANDBOX_PATHS.packages,
    }),
    spawnCommand: (renderDirectory, typstArguments, variables = {}) => ({
      typstName: basename(SANDBOX_PATHS.typst),
      file,
      arguments: [
        ...limitArguments,
        settings.bubblewrapPath,
        ...commonArguments,
        ...Object.entries({ ...environment, ...variables }).flatMap(([name, value]) => ["--setenv", name, value]),
        ...readOnly(renderDirectory.root, SANDBOX_PATHS.project),
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
      extraDescriptors,
    }),
    interpretEnd,
    findObstacle: async () => describeBubblewrapObstacle(await findBubblewrapFacts(settings)),
  };
}

/** Only its report tells a failed or killed bubblewrap from a failed or killed Typst. */
function interpretEnd(end: ProgramEnd): SandboxedEnd {
  if (end.kind !== "exited" || hasFailedToLaunch(end, LAUNCHERS)) return sandboxFailed(end);
  const reported = /"exit-code": (\d+)/.exec(end.status)?.[1];
  if (reported === undefined) return sandboxFailed(end);
  const signal = SIGNAL_NAMES.get(Number(reported) - SIGNAL_EXIT_CODE_BASE);
  return signal === undefined ? { kind: "exited", exitCode: Number(reported) } : { kind: "signalled", signal };
}

function readOnly(source: string, target: string): string[] {
  return ["--ro-bind", source, target];
}
