/** Which control groups count the processes of a backend, by what the kernel shows on each kind of machine; and what it costs to ask. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { expect, it, onTestFinished, vi } from "vitest";
import { findControlGroups, listZombies, ProcessLimits } from "../../../backend/processes/process-limits.ts";

const mount = (root: string, target: string, type: string, options: string) =>
  `36 31 0:33 ${root} ${target} ro,nosuid shared:9 - ${type} ${type} rw,${options}\n`;
const OTHER_MOUNTS = `23 1 8:1 / / rw - ext4 /dev/root rw\n${mount("/", "/sys/fs/cgroup/memory", "cgroup", "memory")}`;

it.each([
  [
    "a container of its own root, version 2",
    "0::/\n",
    mount("/", "/sys/fs/cgroup", "cgroup2", "nsdelegate"),
    ["/sys/fs/cgroup"],
  ],
  [
    "a unit of systemd, version 2",
    "0::/system.slice/render.service\n",
    mount("/", "/sys/fs/cgroup", "cgroup2", "nsdelegate"),
    ["/sys/fs/cgroup", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/system.slice/render.service"],
  ],
  [
    "Docker, version 1, by the host's paths",
    "8:pids:/docker/0123\n4:memory:/docker/0123\n0::/\n",
    mount("/docker/0123", "/sys/fs/cgroup/pids", "cgroup", "pids"),
    ["/sys/fs/cgroup/pids"],
  ],
  [
    "a group below the container's, version 1, shared with another controller",
    "8:cpu,pids:/docker/0123/own\n",
    mount("/docker/0123", "/sys/fs/cgroup/cpu,pids", "cgroup", "cpu,pids"),
    ["/sys/fs/cgroup/cpu,pids", "/sys/fs/cgroup/cpu,pids/own"],
  ],
  [
    "a mount of another part of the hierarchy",
    "8:pids:/../other\n",
    mount("/docker/0123", "/sys/fs/cgroup/pids", "cgroup", "pids"),
    ["/sys/fs/cgroup/pids"],
  ],
  ["no control groups", "", "", []],
])("%s", (_title, membership, mounts, folders) => {
  expect(findControlGroups(membership, OTHER_MOUNTS + mounts)).toEqual(folders);
});

it("a machine whose process 1 waits for others has no zombies that stay", async () => {
  await expect.poll(listZombies).toEqual([]);
});

it("looks at the processes of the machine only where the limit of the user may be near", () => {
  // No superuser, who is exempt.
  vi.spyOn(process, "getuid").mockReturnValue(12_345);
  const looks = vi.spyOn(fs, "statSync");
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  expect(new ProcessLimits(1_000_000).findShortage(24)).toBe(null);
  expect(looks).not.toHaveBeenCalled();
  const near = new ProcessLimits(10);
  expect(near.findShortage(24)).toEqual({ used: 0, max: 10 });
  expect(looks).toHaveBeenCalled();
  expect(near.findTightest()).toEqual({ used: 0, max: 10 });
});
