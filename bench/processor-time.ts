/** The processor time of programs and all that they start, even what is left to init: control groups count it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const VERSION_1 = "/sys/fs/cgroup/cpuacct";
const ROOT = existsSync(VERSION_1) ? VERSION_1 : "/sys/fs/cgroup";
/** How often it is tried to remove a group whose last processes are just ending: for half a minute. */
const MAX_REMOVALS = 300;

export function countProcessorTime(name: string) {
  const folder = join(ROOT, `bench-${name}-${process.pid}`);
  mkdirSync(folder);
  const moveTo = (group: string) => writeFileSync(join(group, "cgroup.procs"), String(process.pid));
  return {
    /** Starts programs that are counted. This process itself is counted until they have started. */
    whileStarting: async <Started>(start: () => Promise<Started>): Promise<Started> => {
      const home = join(ROOT, ownGroup());
      moveTo(folder);
      try {
        return await start();
      } finally {
        moveTo(home);
      }
    },
    milliseconds: () =>
      ROOT === VERSION_1
        ? Number(readFileSync(join(folder, "cpuacct.usage"), "utf8")) / 1e6
        : Number(/^usage_usec (\d+)$/m.exec(readFileSync(join(folder, "cpu.stat"), "utf8"))?.[1]) / 1e3,
    /** To be called when the programs have ended or are about to. */
    remove: async () => {
      for (let removals = 1; ; removals++) {
        const error = await rmdir(folder).catch((failure: unknown) => failure);
        if (error === undefined) return;
        if (removals === MAX_REMOVALS) throw error;
        await delay(100);
      }
    },
  };
}

function ownGroup(): string {
  const controllers = ROOT === VERSION_1 ? "cpuacct(?:,cpu)?|cpu,cpuacct" : "";
  const groups = readFileSync("/proc/self/cgroup", "utf8");
  return new RegExp(`^\\d+:(?:${controllers}):(.*)$`, "m").exec(groups)?.[1] ?? "/";
}
