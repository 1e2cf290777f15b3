/**
 * The sandbox for hosts where user namespaces are closed: Landlock for the file system, seccomp for everything else
 * (sockets among it), by setpriv(1) of util-linux 2.41 or newer.
 *
 * Paths are the host's own here. What Landlock does not name cannot be opened, and what seccomp does not list cannot be
 * called; the process may still see that files exist.
 */
import { basename } from "node:path";
import { readProc } from "../proc.mjs";
import type { BackendSettings } from "../settings.ts";
import { describeLandlockObstacle, findLandlockFacts } from "./landlock-obstacle.ts";
import { endOfReplacedProgram } from "./launch-end.ts";
import { preparePackageDirectory } from "./package-directory.ts";
import { LIMITER_NAME, resourceLimitCommand } from "./resource-limits.ts";
import { RENDER_ENVIRONMENT, type Sandbox, type SandboxView } from "./sandbox.ts";
import { writeSeccompFilter } from "./seccomp-filter-file.ts";
import { sharedLibraries } from "./shared-libraries.ts";

/** The programs that may fail before Typst runs, by the names with which they begin their complaints. */
const LAUNCHERS = [LIMITER_NAME, "setpriv"];

/** The sandbox, with its filter written into the work directory. */
export async function openLandlock(settings: BackendSettings): Promise<Sandbox> {
  const seccompPath = await writeSeccompFilter(settings);
  const libraries = await sharedLibraries(settings.typstPath);
  const packages = await preparePackageDirectory(settings);
  const commonArguments = [
    // There is no namespace that would end with the backend, so Typst is killed when its parent goes.
    ...["--pdeathsig", "KILL"],
    ...["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all"],
    ...boundingSetOption(),
    // Every access to the file system is denied, but for the rules that follow.
    ...["--landlock-access", "fs"],
    ...rule("execute,read-file", settings.typstPath),
    ...libraries.flatMap((library) => rule("execute,read-file", library)),
    ...[packages.path, ...settings.fontPaths].flatMap((path) => rule("read-file,read-dir", path)),
    ...["--seccomp-filter", seccompPath],
  ];
  const [file = "", ...limitArguments] = resourceLimitCommand(settings);

  return {
    mode: "landlock",
    workFiles: [seccompPath, ...packages.workFiles],
    view: (renderDirectory): SandboxView => ({
      root: renderDirectory.root,
      outputDirectory: renderDirectory.outputDirectory,
      fontPaths: settings.fontPaths,
      packagePath: packages.path,
    }),
    spawnCommand: (renderDirectory, typstArguments, variables = {}) => ({
      typstName: basename(settings.typstPath),
      file,
      arguments: [
        ...limitArguments,
        settings.setprivPath,
        ...commonArguments,
        ...rule("read-file,read-dir", renderDirectory.root),
        ...(renderDirectory.outputDirectory === null
          ? []
          : rule("read-dir,write-file,make-reg,truncate", renderDirectory.outputDirectory)),
        settings.typstPath,
        ...typstArguments,
      ],
      environment: { ...RENDER_ENVIRONMENT, ...variables },
      workingDirectory: renderDirectory.root,
      extraDescriptors: [],
    }),
    interpretEnd: (end) => endOfReplacedProgram(end, LAUNCHERS),
    findObstacle: async () => describeLandlockObstacle(await findLandlockFacts(settings)),
  };
}

/** CAP_SETPCAP of <linux/capability.h>: the right to take capabilities out of the bounding set. */
const CAP_SETPCAP = 8n;

/**
 * The superuser's capabilities come back at each exec from the bounding set, so it must be emptied; where that is refused,
 * setpriv fails and nothing is served. An ordinary user's do not come back: without the right to empty the set, setpriv
 * would fail for nothing.
 */
function boundingSetOption(): readonly string[] {
  const permitted = BigInt(`0x${/^CapPrm:\t([0-9a-f]+)$/m.exec(readProc("self/status"))?.[1] ?? "0"}`);
  const mayEmpty = ((permitted >> CAP_SETPCAP) & 1n) === 1n;
  const hasRightsToLose = process.getuid?.() === 0 && permitted !== 0n;
  return mayEmpty || hasRightsToLose ? ["--bounding-set=-all"] : [];
}

function rule(accesses: string, path: string): string[] {
  return ["--landlock-rule", `path-beneath:${accesses}:${path}`];
}
