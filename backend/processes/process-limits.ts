/** How many processes and threads this backend may still start, by the limits of its control groups and of its user. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { listPids, readOwnLimit, readProc } from "./proc.ts";

/** A limit, and its use by all. Threads count, and so do processes that nobody has waited for. */
export interface ProcessUse {
  readonly used: number;
  readonly max: number;
}

/** Control groups are nested by the machine, its init, the container's engine and its pods: fewer than ten levels. */
const MAX_CONTROL_GROUPS = 32;

export class ProcessLimits {
  readonly #controlGroups = findControlGroups(readProc("self/cgroup"), readProc("self/mountinfo"));
  readonly #maxOfUser: number;

  /** @param maxOfUser the lowest limit of a process of a render on the processes of this user; infinite if none */
  constructor(maxOfUser: number) {
    this.#maxOfUser = isExempt()
      ? Number.POSITIVE_INFINITY
      : Math.min(maxOfUser, readOwnLimit("soft", "Max processes"));
  }

  findTightest(): ProcessUse | null {
    return this.#tightest(Number.isFinite(this.#maxOfUser) ? countOwnTasks() : 0);
  }

  /** Null if there is certainly room for so many more; otherwise the limit that may leave less. */
  findShortage(needed: number): ProcessUse | null {
    // The processes of all users are an upper bound that the kernel keeps. To count those of one, each is looked at.
    const mayLack = this.#maxOfUser - countAllTasks() < needed;
    const tightest = this.#tightest(mayLack ? countOwnTasks() : 0);
    return tightest !== null && tightest.max - tightest.used < needed ? tightest : null;
  }

  #tightest(ownTasks: number): ProcessUse | null {
    const uses = this.#controlGroups.flatMap((folder) => {
      const [used, max] = ["pids.current", "pids.max"].map((name) => readNumber(join(folder, name)));
      // Without a limit it says "max".
      return used == null || max == null ? [] : [{ used, max }];
    });
    if (Number.isFinite(this.#maxOfUser)) uses.push({ used: ownTasks, max: this.#maxOfUser });
    return uses.toSorted((one, other) => one.max - one.used - (other.max - other.used))[0] ?? null;
  }
}

/** The folders of the control groups that count this process, by the text of /proc/self/cgroup and of mountinfo. */
export function findControlGroups(membership: string, mounts: string): readonly string[] {
  const paths = new Map<string, string>();
  for (const [, controllers = "", path = ""] of membership.matchAll(/^\d+:([^:\n]*):(.*)$/gm)) {
    if (controllers === "") paths.set("cgroup2", path);
    else if (controllers.split(",").includes("pids")) paths.set("cgroup", path);
  }
  return mounts.split("\n").flatMap((line) => {
    const [, root = "", target = "", type = "", options = ""] =
      /^\S+ \S+ \S+ (\S+) (\S+) .*? - (cgroup2?) \S+ (\S+)$/.exec(line) ?? [];
    const path = paths.get(type);
    if (path === undefined || (type === "cgroup" && !options.split(",").includes("pids"))) return [];
    // An engine shows a container only its own group, and may or may not call it the root.
    const isBelow = root === "/" || path === root || path.startsWith(`${root}/`);
    const names = isBelow ? path.slice(root === "/" ? 0 : root.length).split("/") : [];
    const below = names.filter((name) => name !== "" && name !== "..").slice(0, MAX_CONTROL_GROUPS);
    return [target, ...below.map((_, index) => join(target, ...below.slice(0, index + 1)))];
  });
}

/** The processes of this user that have ended and for which process 1, now their parent, has not waited. */
export function listZombies(): readonly number[] {
  const user = process.getuid?.();
  return listPids().filter((pid) => {
    if (statOf(pid)?.uid !== user) return false;
    const text = readProc(`${pid}/stat`);
    // A program chooses its name, which is in parentheses and may contain some.
    return text.slice(text.lastIndexOf(")")).startsWith(") Z 1 ");
  });
}

export function nameOfProcess1(): string {
  return readProc("1/comm").trim();
}

/** The kernel does not count the processes of the machine's superuser; that of a user namespace is an ordinary user. */
function isExempt(): boolean {
  return process.getuid?.() === 0 && /^\s*0\s+0\s/.test(readProc("self/uid_map"));
}

/** Counts the tasks of the machine, or of our namespace of processes; infinite if the kernel does not say. */
function countAllTasks(): number {
  const total = /^(?:\S+ ){3}\d+\/(\d+) /.exec(readProc("loadavg"))?.[1];
  return Number(total) > 0 ? Number(total) : Number.POSITIVE_INFINITY;
}

function countOwnTasks(): number {
  const user = process.getuid?.();
  let count = 0;
  for (const pid of listPids()) {
    const stat = statOf(pid);
    // A folder has two links, and one more for each thread.
    if (stat?.uid === user) count += Math.max(1, (stat?.nlink ?? 0) - 2);
  }
  return count;
}

function statOf(pid: number) {
  try {
    return statSync(`/proc/${pid}/task`);
  } catch {
    return null;
  }
}

function readNumber(path: string): number | null {
  try {
    const text = readFileSync(path, "utf8").trim();
    return /^\d{1,15}$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}
