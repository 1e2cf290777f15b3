/**
 * The sandbox for hosts without user namespaces: Landlock for files, seccomp for all else, both set up by setpriv(1) of
 * util-linux 2.41 or newer. Typst sees the host's own paths, and may see that other files exist.
 */
import { basename } from "node:path";
import { RENDER_ENVIRONMENT, type TypstPaths } from "../../typst/command-line.ts";
import { readProc } from "../processes/proc.ts";
import type { BackendSettings } from "../settings.ts";
import { describeLandlockObstacle, findLandlockFacts } from "./landlock-obstacle.ts";
import { chooseResourceLimits } from "./resource-limits.ts";
import { listSharedLibraries, preparePackageDirectory, type Sandbox } from "./sandbox.ts";
import { writeSeccompFilter } from "./seccomp.ts";
import { findMachineFacts } from "./trial.ts";

export async function openLandlock(settings: BackendSettings): Promise<Sandbox> {
  const seccompPath = await writeSeccompFilter(settings);
  const libraries = await listSharedLibraries(settings.typstPath);
  const packages = await preparePackageDirectory(settings);
  const commonArguments = [
    // No namespace ends with the backend, so the kernel kills Typst when its parent ends.
    ...["--pdeathsig", "KILL"],
    ...["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all"],
    ...boundingSetOption(readProc("self/status"), findMachineFacts().isSuperuser),
    // Denies every access to the file system that the rules below do not allow.
    ...["--landlock-access", "fs"],
    ...allowPath("execute,read-file", settings.typstPath),
    ...libraries.flatMap((library) => allowPath("execute,read-file", library)),
    // The map of Typst itself, which setpriv becomes. glibc reads in it how large the stack is (see `stackMap`).
    ...allowPath("read-file", "/proc/self/maps"),
    ...[packages.path, ...settings.fontPaths].flatMap((path) => allowPath("read-file,read-dir", path)),
    ...["--seccomp-filter", seccompPath],
  ];
  const limitCommands = await chooseResourceLimits(settings);

  return {
    mode: "landlock",
    launchers: ["setpriv"],
    workFiles: [seccompPath, ...packages.workFiles],
    view: (renderDirectory): TypstPaths => ({
      root: renderDirectory.root,
      outputDirectory: renderDirectory.outputDirectory,
      fontPaths: settings.fontPaths,
      packagePath: packages.path,
    }),
    programCommand: (renderDirectory, typstArguments, { threads = 1, variables } = {}) => ({
      typstName: basename(settings.typstPath),
      setUpCommands: limitCommands(threads),
      file: settings.setprivPath,
      arguments: [
        ...commonArguments,
        ...allowPath("read-file,read-dir", renderDirectory.root),
        ...(renderDirectory.outputDirectory === null
          ? []
          : allowPath("read-dir,write-file,make-reg,truncate", renderDirectory.outputDirectory)),
        settings.typstPath,
        ...typstArguments,
      ],
      environment: { ...RENDER_ENVIRONMENT, ...variables },
      workingDirectory: renderDirectory.root,
      inheritedFile: null,
    }),
    findObstacle: async () => describeLandlockObstacle(await findLandlockFacts(settings)),
  };
}

/** CAP_SETPCAP of <linux/capability.h>: permission to remove capabilities from the bounding set. */
const CAP_SETPCAP = 8n;

/**
 * The superuser gets capabilities back from the bounding set at each exec, so it must be emptied. An ordinary user gets
 * none back, and setpriv would fail.
 */
export function boundingSetOption(status: string, isSuperuser: boolean): readonly string[] {
  const permitted = BigInt(`0x${/^CapPrm:\t([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
  const mayEmpty = ((permitted >> CAP_SETPCAP) & 1n) === 1n;
  const hasRightsToLose = isSuperuser && permitted !== 0n;
  return mayEmpty || hasRightsToLose ? ["--bounding-set=-all"] : [];
}

function allowPath(accesses: string, path: string): string[] {
  return ["--landlock-rule", `path-beneath:${accesses}:${path}`];
}
