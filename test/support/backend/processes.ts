/** Processes that are not our children, as shown by /proc. Also used outside of vitest, so it does not import it. */
import { readdirSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { listPids, readProc } from "../../../backend/processes/proc.ts";

export { listPids, readProc };

/** In the order of their start, while the first thread has started them. */
export function childrenOf(pid: number): number[] {
  return (readProc(`${pid}/task/${pid}/children`).match(/\d+/g) ?? []).map(Number);
}

/** Whether a process runs. A zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  const stat = readProc(`${pid}/stat`);
  return stat !== "" && !stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
}

/**
 * The processes of a work directory: those whose command line or mounts name it. Inside bubblewrap the command line
 * contains no host paths, but the mounts still do.
 */
export function processesOf(workDirectory: string): number[] {
  return listPids().filter((pid) => isProcessOf(workDirectory, pid));
}

/** The Typst processes of a work directory, waiting or running. */
export function typstProcessesOf(workDirectory: string): number[] {
  return listPids().filter((pid) => readProc(`${pid}/comm`).trim() === "typst" && isProcessOf(workDirectory, pid));
}

function isProcessOf(workDirectory: string, pid: number): boolean {
  const name = basename(workDirectory);
  if (readProc(`${pid}/cmdline`).includes(name)) return true;
  // The kernel takes long to list mounts, and those that we see are in no sandbox.
  return mountNamespaceOf(pid) !== OWN_MOUNT_NAMESPACE && readProc(`${pid}/mountinfo`).includes(`${name}/render-`);
}

const OWN_MOUNT_NAMESPACE = mountNamespaceOf("self");

/** Empty if the process has ended or belongs to another user. */
function mountNamespaceOf(pid: number | "self"): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return "";
  }
}

/** The fields of /proc/…/status, of the process or of one of its threads; none if it has ended. */
export function processStatus(pid: number, thread = String(pid)): Readonly<Record<string, string>> {
  const lines = readProc(`${pid}/task/${thread}/status`).split("\n");
  return Object.fromEntries(
    lines.map((line) => line.split(":\t")).map(([name = "", value = ""]) => [name, value.trim()]),
  );
}

export function ageSeconds(pid: number): number {
  const stat = readProc(`${pid}/stat`);
  const startedTicks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  const uptimeSeconds = Number.parseFloat(readProc("uptime"));
  // A tick is a hundredth of a second on every platform that Node runs on.
  return uptimeSeconds - startedTicks / 100;
}

/** The resident memory of a process in bytes; 0 if it has ended. */
export function residentBytes(pid: number): number {
  // In kilobytes, with the unit after the number.
  return 1024 * Number.parseInt(processStatus(pid).VmRSS ?? "0", 10);
}

/** The open descriptors of a process, as `number -> target`. */
export function openDescriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return `${name} -> ${readlinkSync(`/proc/${pid}/fd/${name}`)}`;
    } catch {
      return `${name} -> closed`;
    }
  });
}
