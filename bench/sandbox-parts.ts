/**
 * Where the cost of bubblewrap goes: the sandbox's own command line, run from a shell with one part of it left out at a
 * time. What a part costs is what its absence saves.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openSandbox } from "../backend/sandbox/open-sandbox.ts";
import { readBackendSettings } from "../backend/settings.ts";
import { compileArguments } from "../backend/typst/command-line.ts";
import { prepareWorkDirectory } from "../backend/work-directory/claim.ts";
import { RenderDirectory } from "../backend/work-directory/render-directory.ts";
import { locateBubblewrap } from "../scripts/bubblewrap-location.mjs";
import { median } from "./median.ts";

export interface PartCost {
  readonly name: string;
  /** Of one render, as the median of many. */
  readonly milliseconds: number;
}

const ROUNDS = 15;
const RENDERS_A_ROUND = 8;

/** Pieces of the command line, each with the number of its arguments. */
const PARTS: readonly (readonly [name: string, flag: string, length: number])[] = [
  ["without the network namespace", "--unshare-net", 1],
  ["without the process namespace", "--unshare-pid", 1],
  ["without the IPC namespace", "--unshare-ipc", 1],
  ["without the filter of system calls", "--seccomp", 2],
  ["without huge pages", "GLIBC_TUNABLES", 0],
];

/** @param fill writes the document to render into a directory: `main.typ` is its program text. */
export async function sandboxPartCosts(
  typstPath: string,
  workDirectory: string,
  fill: (directory: string) => Promise<void>,
): Promise<PartCost[]> {
  const bubblewrap = await locateBubblewrap();
  const settings = readBackendSettings({
    PATH: process.env.PATH,
    SERVICE_TYPST_BIN: typstPath,
    SERVICE_BUBBLEWRAP_BIN: "path" in bubblewrap ? bubblewrap.path : "",
    SERVICE_WORK_DIRECTORY: workDirectory,
  });
  const claim = await prepareWorkDirectory(settings);
  try {
    const sandbox = await openSandbox(settings);
    const project = await RenderDirectory.create(workDirectory, false);
    await fill(project.root);
    const launch = sandbox.spawnCommand(project, compileArguments(settings, sandbox.view(project), "-", "pdf", []));
    const whole = [launch.file, ...launch.arguments];
    const limitsEnd = whole.indexOf(settings.bubblewrapPath);
    const bare = { root: project.root, outputDirectory: null, fontPaths: [], packagePath: settings.workDirectory };
    const typst = [typstPath, ...compileArguments(settings, bare, "-", "pdf", [])];
    const variants: [string, readonly string[]][] = [
      ["Typst alone", typst],
      ["Typst under resource limits alone", [...whole.slice(0, limitsEnd), ...typst]],
      ["all of it", whole],
      ["without resource limits", whole.slice(limitsEnd)],
      ...PARTS.map(([name, flag, length]): [string, readonly string[]] => [name, without(whole, flag, length)]),
    ];
    const times = variants.map(([name, command]) => ({ name, command, all: [] as number[] }));
    for (let round = 0; round < ROUNDS; round++) {
      for (const { command, all } of times) {
        all.push(renderMilliseconds(command, project.root, launch.descriptor3Path ?? "/dev/null"));
      }
    }
    return times.map(({ name, all }) => ({ name, milliseconds: median(all) }));
  } finally {
    await claim.release();
  }
}

function without(command: readonly string[], flag: string, length: number): string[] {
  const index = command.indexOf(flag);
  if (index < 0) throw new Error(`the sandbox's command line has no ${flag}`);
  // A variable goes with the `--setenv` before it and the value after it.
  return length === 0 ? command.toSpliced(index - 1, 3) : command.toSpliced(index, length);
}

function renderMilliseconds(command: readonly string[], directory: string, filterPath: string): number {
  const loop = `i=0; while [ $i -lt ${RENDERS_A_ROUND} ]; do "$@" <"$MAIN" >/dev/null 3<"$FILTER" 4>/dev/null || exit 1; i=$((i+1)); done`;
  const started = performance.now();
  execFileSync("/bin/sh", ["-c", loop, "sh", ...command], {
    cwd: directory,
    env: { MAIN: join(directory, "main.typ"), FILTER: filterPath },
    stdio: "ignore",
  });
  return (performance.now() - started) / RENDERS_A_ROUND;
}
