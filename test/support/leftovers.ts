/**
 * What a render may leave behind, and must not: processes, projects, slots, temporary space.
 */
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect } from "vitest";
import type { TestBackend } from "./test-backend.ts";

/**
 * The processes that have to do with a work directory: those whose command line or mounts name it. Inside bubblewrap a
 * command line names nothing of the host, and the mounts still do.
 */
export function processesOf(workDirectory: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const name = basename(workDirectory);
  return pids
    .filter((pid) => readProc(pid, "cmdline").includes(name) || readProc(pid, "mountinfo").includes(`${name}/render-`))
    .map(Number);
}

/** The processes of a work directory that are Typst itself, waiting or at work. */
export function typstProcessesOf(workDirectory: string): number[] {
  return processesOf(workDirectory).filter((pid) => readProc(String(pid), "comm").trim() === "typst");
}

/** One file of a process, empty where the process is gone. */
export function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}

/** Expects that soon nothing of any render is left. */
export async function expectNothingLeft(backend: TestBackend): Promise<void> {
  await expect.poll(() => backend.projects()).toEqual([]);
  await expect.poll(() => processesOf(backend.workDirectory)).toEqual([]);
  const gauges = ["service_renders_running", "service_renders_waiting", "service_temp_reserved_bytes"];
  await expect.poll(() => Promise.all(gauges.map((name) => backend.metric(name)))).toEqual([0, 0, 0]);
}
