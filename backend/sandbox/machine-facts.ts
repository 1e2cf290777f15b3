/**
 * What can be found out about a machine on which a sandbox does not start, for `obstacle.ts` to explain. It runs the
 * sandbox's programs on their own; nothing of a caller's is near.
 */
import { constants, readFileSync } from "node:fs";
import { access, chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { readProc } from "../proc.mjs";
import type { BackendSettings } from "../settings.ts";
import { NAMESPACE_ARGUMENTS } from "./bubblewrap.ts";
import type { BubblewrapFacts, LandlockFacts, MachineFacts, SandboxFacts, Trial } from "./obstacle.ts";

const TRIAL_TIMEOUT_MILLISECONDS = 10_000;
/** Long enough for every complaint of the programs; a stack of warnings is cut. */
const MAX_COMPLAINT_LENGTH = 300;

/** The facts for the sandbox that the settings name. The work directory must be ready. */
export async function findSandboxFacts(settings: BackendSettings, mode: SandboxFacts["mode"]): Promise<SandboxFacts> {
  const machine: MachineFacts = {
    isSuperuser: process.getuid?.() === 0,
    prlimit: await tryProgram(settings.prlimitPath, ["--version"]),
    isFiltered: /^Seccomp:\t2$/m.test(readProc("self/status")),
  };
  return mode === "bubblewrap" ? bubblewrapFacts(settings, machine) : landlockFacts(settings, machine);
}

async function bubblewrapFacts(settings: BackendSettings, machine: MachineFacts): Promise<BubblewrapFacts> {
  // The namespaces of a render, around the host's files.
  const trial = [...NAMESPACE_ARGUMENTS, "--ro-bind", "/", "/", "--", settings.prlimitPath, "--version"];
  return {
    ...machine,
    mode: "bubblewrap",
    bubblewrap: await tryProgram(settings.bubblewrapPath, trial),
    canReadProcSys: readProc("sys/kernel/overflowuid") !== "",
    maxUserNamespaces: readSetting("user/max_user_namespaces"),
    unprivilegedUserNamespaces: readSetting("kernel/unprivileged_userns_clone"),
    apparmorRestriction: readSetting("kernel/apparmor_restrict_unprivileged_userns"),
    isWorkDirectoryExecutable: await canExecuteIn(settings.workDirectory),
  };
}

async function landlockFacts(settings: BackendSettings, machine: MachineFacts): Promise<LandlockFacts> {
  const { setprivPath, prlimitPath } = settings;
  const rules = ["--landlock-access", "fs", "--landlock-rule", "path-beneath:execute,read-file:/"];
  return {
    ...machine,
    mode: "landlock",
    setprivVersion: /util-linux \S+/.exec(await outputOf(setprivPath, "--version"))?.[0] ?? null,
    knowsLandlock: (await outputOf(setprivPath, "--help")).includes("--landlock-access"),
    setpriv: await tryProgram(setprivPath, ["--no-new-privs", ...rules, "--", prlimitPath, "--version"]),
    securityModules: readSecurityModules(),
  };
}

/** Runs a program without an environment but for the language of its complaints. */
function run(program: string, options: readonly string[]) {
  return execa(program, options, {
    env: { LC_ALL: "C" },
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    timeout: TRIAL_TIMEOUT_MILLISECONDS,
  });
}

async function tryProgram(program: string, options: readonly string[]): Promise<Trial> {
  const { exitCode, code, stderr } = await run(program, options);
  if (exitCode === 0) return { kind: "works" };
  if (code === "ENOENT") return { kind: "missing" };
  const complaint = (stderr ?? "").trim().split("\n")[0] ?? "";
  return { kind: "fails", complaint: complaint.slice(0, MAX_COMPLAINT_LENGTH) || `exit code ${exitCode ?? code}` };
}

async function outputOf(program: string, option: string): Promise<string> {
  return (await run(program, [option])).stdout ?? "";
}

/** A whole number of /proc/sys; null where there is none. */
function readSetting(path: string): number | null {
  const text = readProc(`sys/${path}`).trim();
  return text === "" ? null : Number(text);
}

function readSecurityModules(): string[] | null {
  try {
    return readFileSync("/sys/kernel/security/lsm", "utf8").trim().split(",");
  } catch {
    // securityfs is not mounted, or for the superuser alone.
    return null;
  }
}

/** Whether the file system lets programs run: access(2) asks the mount as well as the file. */
async function canExecuteIn(folder: string): Promise<boolean> {
  const path = join(folder, "executable");
  try {
    await writeFile(path, "");
    await chmod(path, 0o700);
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    await rm(path, { force: true });
  }
}
