/**
 * Chooses the sandbox in which Typst runs: none before Typst itself has tried to escape from it. It follows symbolic
 * links, writes where its command line says and fetches packages: without a sandbox each of these attempts succeeds.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { SettingError } from "../../rules/settings.ts";
import { compileArguments, proxyVariables, UNCONFINED_ENVIRONMENT } from "../../typst/command-line.ts";
import { AUTOMATIC_MODES } from "../../typst/sandbox-modes.mjs";
import type { Launcher } from "../launcher/launcher.ts";
import { openBubblewrap } from "../sandbox/bubblewrap.ts";
import { openLandlock } from "../sandbox/landlock.ts";
import { preparePackageDirectory, type Sandbox, type SandboxMode } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { TypstProcess } from "./process.ts";

/** @throws SettingError if Typst can escape from the sandbox, or does not run in it; with `auto`, in every sandbox. */
export async function chooseSandbox(
  settings: BackendSettings,
  launcher: Launcher,
): Promise<{ readonly sandbox: Sandbox; readonly message: string | null }> {
  const { sandboxChoice } = settings;
  const isAutomatic = sandboxChoice === "auto";
  const faults: string[] = [];
  for (const mode of isAutomatic ? AUTOMATIC_MODES : [sandboxChoice]) {
    const sandbox = await openSandbox(settings, mode, launcher);
    if (mode === "none") return { sandbox, message: UNCONFINED_WARNING };
    const fault = await findFault(settings, sandbox, launcher);
    if (fault !== null) faults.push(fault);
    else if (isAutomatic) return { sandbox, message: [`SERVICE_SANDBOX=auto: ${mode} is used.`, ...faults].join(" ") };
    else return { sandbox, message: null };
  }
  throw new SettingError(faults.join(" "));
}

const UNCONFINED_WARNING = "WARNING: SERVICE_SANDBOX=none: a flaw in Typst would expose this machine to every caller.";

/** @throws SettingError if this machine's processor or shell is not known well enough to confine a process */
export function openSandbox(settings: BackendSettings, mode: SandboxMode, launcher: Launcher): Promise<Sandbox> {
  switch (mode) {
    case "bubblewrap":
      return openBubblewrap(settings, launcher);
    case "landlock":
      return openLandlock(settings);
    case "none":
      return openUnconfined(settings);
  }
}

/** For developers. Typst keeps to its root, but nothing contains a flaw in it. */
async function openUnconfined(settings: BackendSettings): Promise<Sandbox> {
  const packages = await preparePackageDirectory(settings);
  return {
    mode: "none",
    launchers: [],
    workFiles: packages.workFiles,
    view: ({ root, outputDirectory }) => ({
      root,
      outputDirectory,
      fontPaths: settings.fontPaths,
      packagePath: packages.path,
    }),
    programCommand: (renderDirectory, typstArguments, { variables } = {}) => ({
      typstName: basename(settings.typstPath),
      file: settings.typstPath,
      arguments: typstArguments,
      environment: { ...UNCONFINED_ENVIRONMENT, ...variables },
      workingDirectory: renderDirectory.root,
      inheritedFile: null,
      setUpCommands: [],
    }),
    findObstacle: async () => "Does SERVICE_TYPST_BIN run, and can this user read it and its libraries?",
  };
}

async function findFault(settings: BackendSettings, sandbox: Sandbox, launcher: Launcher): Promise<string | null> {
  const { compiles, escapes } = await trySandbox(settings, sandbox, launcher);
  if (escapes.length > 0) return `The ${sandbox.mode} sandbox does not hold: Typst ${escapes.join(", ")}.`;
  if (compiles) return null;
  return `Typst does not run in the ${sandbox.mode} sandbox. ${await sandbox.findObstacle()}`;
}

type Escape = "reads a file of the host" | "writes outside of its output" | "opens a socket";

const TRIAL_TIMEOUT_MILLISECONDS = 20_000;
const SECRET = "a secret of the host";

export async function trySandbox(settings: BackendSettings, sandbox: Sandbox, launcher: Launcher) {
  const tried = { settings, sandbox, launcher };
  const host = await mkdtemp(join(tmpdir(), "document-rendering-trial-"));
  try {
    const secretPath = join(host, "secret.txt");
    await writeFile(secretPath, SECRET);
    const compiles = await compile(tried, { source: "= Hello" });
    const reads = await compile(tried, {
      // Only reading the right text is an escape. The sandbox may show an empty file instead.
      source: `#assert.eq(read("link.txt"), "${SECRET}")`,
      linkTo: secretPath,
    });
    const writtenPath = join(host, "written.pdf");
    await compile(tried, { source: "= Hello", outputPath: writtenPath });
    const escapes: Escape[] = [];
    if (reads) escapes.push("reads a file of the host");
    if (existsSync(writtenPath)) escapes.push("writes outside of its output");
    if (await canConnectToHost(tried)) escapes.push("opens a socket");
    return { compiles, escapes };
  } finally {
    await rm(host, { recursive: true, force: true });
  }
}

type Tried = Readonly<{ settings: BackendSettings; sandbox: Sandbox; launcher: Launcher }>;

interface TrialTask {
  readonly source: string;
  /** The target of a symbolic link `link.txt` among the files of the render. */
  readonly linkTo?: string;
  readonly outputPath?: string;
  readonly proxyUrl?: string;
}

async function compile({ settings, sandbox, launcher }: Tried, task: TrialTask): Promise<boolean> {
  const directory = await RenderDirectory.create(settings.workDirectory, false);
  try {
    if (task.linkTo !== undefined) await symlink(task.linkTo, join(directory.root, "link.txt"));
    const view = sandbox.view(directory);
    const typstArguments = compileArguments(settings, view, ["--format", "pdf"], task.outputPath ?? "-");
    const variables = task.proxyUrl === undefined ? {} : proxyVariables(task.proxyUrl);
    const command = sandbox.programCommand(directory, typstArguments, { variables });
    const process = new TypstProcess({ launcher, sandbox, command, directory });
    const over = AbortSignal.timeout(TRIAL_TIMEOUT_MILLISECONDS);
    const { end } = await process.perform({ programText: [Buffer.from(task.source)], over });
    return end.kind === "exited" && end.exitCode === 0;
  } finally {
    await directory.remove();
  }
}

async function canConnectToHost(tried: Tried): Promise<boolean> {
  let wasReached = false;
  const listener = createServer((socket) => {
    wasReached = true;
    socket.destroy();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  try {
    if (address === null || typeof address === "string") throw new Error("the loopback interface has no port");
    await compile(tried, { source: '#import "@preview/trial:0.1.0"', proxyUrl: `http://127.0.0.1:${address.port}` });
    return wasReached;
  } finally {
    listener.close();
  }
}
