/**
 * The sandbox by bubblewrap: namespaces of its own for everything, no capabilities, a file system that holds Typst, its
 * libraries, fonts and packages and this render's project, read-only, and the render's output directory.
 */
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { BackendSettings } from "../settings.ts";
import type { RenderDirectory } from "../work-directory/render-directory.ts";
import { resourceLimitCommand } from "./resource-limits.ts";
import { RENDER_ENVIRONMENT, type Sandbox, type SandboxView, type SpawnCommand } from "./sandbox.ts";
import { makeSandboxRoot, SANDBOX_PATHS, sandboxRootPath } from "./sandbox-root.ts";
import type { SeccompFilterFile } from "./seccomp-filter-file.ts";

/** Nobody: the number has no meaning outside the sandbox's own user namespace. */
const USER_ID = "65534";

/**
 * A Typst that is linked with glibc takes its heap in steps of 16 MiB and in huge pages, where the host has them to give:
 * the invoice of `examples/` then has a third fewer page faults and takes 5 to 8 % less time (measured). It costs every
 * render a step of address space. Other builds do not know the variable.
 */
const HUGE_PAGES = { GLIBC_TUNABLES: "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216" } as const;

/** What makes the namespaces, and the user in them. */
export const NAMESPACE_ARGUMENTS: readonly string[] = [
  ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--uid", USER_ID, "--gid", USER_ID, "--hostname", "sandbox"],
];

const SECCOMP_DESCRIPTOR = "3";
const STATUS_DESCRIPTOR = "4";

/**
 * @param libraries what the Typst binary loads.
 * @param seccompFilter a file with the filter.
 */
export function bubblewrapSandbox(
  settings: BackendSettings,
  libraries: readonly string[],
  seccompFilter: SeccompFilterFile,
): Sandbox {
  const fontPaths = settings.fontPaths.map((_, index) => SANDBOX_PATHS.font(index));
  const environment = { ...RENDER_ENVIRONMENT, ...HUGE_PAGES };
  const commonArguments = [
    ...NAMESPACE_ARGUMENTS,
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
    ...["--clearenv", ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value])],
    ...["--seccomp", SECCOMP_DESCRIPTOR, "--json-status-fd", STATUS_DESCRIPTOR],
    ...readOnly(sandboxRootPath(settings), "/"),
    ...readOnly(settings.typstPath, SANDBOX_PATHS.typst),
    ...(settings.packagePath === null ? [] : readOnly(settings.packagePath, SANDBOX_PATHS.packages)),
    ...settings.fontPaths.flatMap((path, index) => readOnly(path, SANDBOX_PATHS.font(index))),
  ];
  const [file = "", ...limitArguments] = resourceLimitCommand(settings);

  return {
    mode: "bubblewrap",
    prepare: async () => {
      await seccompFilter.write();
      await makeSandboxRoot(settings, libraries);
    },
    isWhole: () => existsSync(join(sandboxRootPath(settings), SANDBOX_PATHS.project)),
    view: ({ outputDirectory }): SandboxView => ({
      root: SANDBOX_PATHS.project,
      outputDirectory: outputDirectory === null ? null : SANDBOX_PATHS.output,
      fontPaths,
      packagePath: SANDBOX_PATHS.packages,
    }),
    spawnCommand: (renderDirectory: RenderDirectory, typstArguments): SpawnCommand => ({
      typstName: basename(SANDBOX_PATHS.typst),
      file,
      arguments: [
        ...limitArguments,
        settings.bubblewrapPath,
        ...commonArguments,
        ...readOnly(renderDirectory.root, SANDBOX_PATHS.project),
        ...(renderDirectory.outputDirectory === null
          ? []
          : ["--bind", renderDirectory.outputDirectory, SANDBOX_PATHS.output]),
        ...["--chdir", SANDBOX_PATHS.project],
        "--",
        SANDBOX_PATHS.typst,
        ...typstArguments,
      ],
      // bubblewrap's own; it sets the render's.
      environment: {},
      workingDirectory: renderDirectory.root,
      descriptor3Path: seccompFilter.path,
      statusReport: "json",
    }),
  };
}

function readOnly(source: string, target: string): string[] {
  return ["--ro-bind", source, target];
}
