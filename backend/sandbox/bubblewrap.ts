/**
 * The sandbox by bubblewrap: namespaces of its own for everything, no capabilities, a file system that holds Typst, its
 * libraries, fonts and packages and this render's project, read-only, and the render's output directory.
 */
import type { Project } from "../project.ts";
import type { BackendSettings } from "../settings.ts";
import { resourceLimitCommand } from "./resource-limits.ts";
import { type Launch, RENDER_ENVIRONMENT, type Sandbox, type SandboxView } from "./sandbox.ts";

/** Nobody: the number has no meaning outside the sandbox's own user namespace. */
const USER_ID = "65534";

const TYPST = "/typst";
const PROJECT = "/project";
const OUTPUT = "/output";
const PACKAGES = "/packages";
const FONTS = "/fonts";

const SECCOMP_DESCRIPTOR = "3";
const STATUS_DESCRIPTOR = "4";

/**
 * @param libraries what the Typst binary loads.
 * @param seccompFilter the filter's program.
 */
export function bubblewrapSandbox(
  settings: BackendSettings,
  libraries: readonly string[],
  seccompFilter: Uint8Array,
): Sandbox {
  const fontPaths = settings.fontPaths.map((_, index) => `${FONTS}/${index}`);
  const commonArguments = [
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...["--uid", USER_ID, "--gid", USER_ID, "--hostname", "sandbox"],
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
    ...["--clearenv", ...Object.entries(RENDER_ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value])],
    ...["--seccomp", SECCOMP_DESCRIPTOR, "--json-status-fd", STATUS_DESCRIPTOR],
    ...libraries.flatMap((library) => readOnly(library, library)),
    ...readOnly(settings.typstPath, TYPST),
    ...(settings.packagePath === null ? ["--dir", PACKAGES] : readOnly(settings.packagePath, PACKAGES)),
    ...settings.fontPaths.flatMap((path, index) => readOnly(path, `${FONTS}/${index}`)),
  ];
  const limited = resourceLimitCommand(settings);
  const [file = "", ...limitArguments] = limited;

  return {
    mode: "bubblewrap",
    view: (): SandboxView => ({ root: PROJECT, outputDirectory: OUTPUT, fontPaths, packagePath: PACKAGES }),
    launch: (project: Project, typstArguments): Launch => ({
      file,
      arguments: [
        ...limitArguments,
        settings.bubblewrapPath,
        ...commonArguments,
        ...readOnly(project.root, PROJECT),
        ...["--bind", project.outputDirectory, OUTPUT],
        // The root is memory: nothing may be written there either.
        ...["--remount-ro", "/", "--chdir", PROJECT],
        "--",
        TYPST,
        ...typstArguments,
      ],
      environment: RENDER_ENVIRONMENT,
      workingDirectory: project.root,
      descriptor3Input: seccompFilter,
      statusReport: "json",
    }),
  };
}

function readOnly(source: string, target: string): string[] {
  return ["--ro-bind", source, target];
}
