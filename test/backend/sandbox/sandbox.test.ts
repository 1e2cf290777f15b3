/**
 * The sandboxes themselves: the trial can tell a working sandbox from none, and a Typst that waits for its input in one
 * has, as the host sees it, the right namespaces, capabilities, environment, descriptors, limits and mounts.
 */
import { mkdir, readdir, readlink, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { trySandbox } from "../../../backend/compiler/choose-sandbox.ts";
import { type TypstEnd, TypstProcess } from "../../../backend/compiler/process.ts";
import { TypstSupervisor } from "../../../backend/compiler/supervisor.ts";
import { findEmptyNetwork } from "../../../backend/sandbox/bubblewrap.ts";
import { boundingSetOption } from "../../../backend/sandbox/landlock.ts";
import { chooseResourceLimits, stackBytes } from "../../../backend/sandbox/resource-limits.ts";
import { listSharedLibraries, type SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { stackMap } from "../../../backend/sandbox/sandbox-root.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import type { Output } from "../../../rules/output-options.ts";
import { renderArguments } from "../../../typst/command-line.ts";
import { findOnPath } from "../../../typst/programs.mjs";
import {
  isRunning,
  openDescriptors,
  processStatus,
  readProc,
  typstProcessesOf,
} from "../../support/backend/processes.ts";
import { linkAsSh, SHELLS } from "../../support/backend/shells.ts";
import {
  eachSandbox,
  openTestSandbox,
  PAGES,
  PDF,
  SANDBOXES,
  type TestSandbox,
} from "../../support/backend/test-sandbox.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

/** Much longer than the kernel takes. */
const END_TIMEOUT_MILLISECONDS = 20_000;

describe("the probe", () => {
  it("escapes in every way if there is no sandbox", async () => {
    const { settings, sandbox, launcher } = await openTestSandbox("none");
    expect(await trySandbox(settings, sandbox, launcher)).toEqual({
      compiles: true,
      escapes: ["reads a file of the host", "writes outside of its output", "opens a socket"],
    });
  });

  eachSandbox(it, SANDBOXES)("stays inside %s and compiles there", async (mode) => {
    const { settings, sandbox, launcher } = await openTestSandbox(mode);
    expect(await trySandbox(settings, sandbox, launcher)).toEqual({ compiles: true, escapes: [] });
  });

  it("finds a hole in a sandbox", async () => {
    const { settings, sandbox, launcher } = await openTestSandbox("bubblewrap");
    // The root is read-only, so the mount point must exist.
    await mkdir(join(settings.workDirectory, "sandbox-root", tmpdir()), { recursive: true });
    const programCommand = (...parts: Parameters<typeof sandbox.programCommand>) => {
      const command = sandbox.programCommand(...parts);
      const end = command.arguments.indexOf("--chdir");
      return { ...command, arguments: command.arguments.toSpliced(end, 0, "--bind", tmpdir(), tmpdir()) };
    };
    const { escapes } = await trySandbox(settings, { ...sandbox, programCommand }, launcher);
    expect(escapes).toEqual(["reads a file of the host", "writes outside of its output"]);
  });
});

async function compileIn({ settings, sandbox, launcher }: TestSandbox, project: RenderDirectory, source: string) {
  const typstArguments = renderArguments(settings, sandbox.view(project), { output: PDF, fontCount: 0 });
  const command = sandbox.programCommand(project, typstArguments);
  const running = new TypstProcess({ launcher, sandbox, command, directory: project });
  const { end } = await running.perform({ programText: [Buffer.from(source)], over: AbortSignal.timeout(600_000) });
  return end;
}

describe("a symbolic link in a render directory", () => {
  type Link = readonly [linkTo: (folder: string) => string, path?: string];

  /** The end of a compilation that reads through the link. */
  async function readThrough(mode: SandboxMode, [linkTo, path = "link"]: Link): Promise<TypstEnd> {
    const own = await openTestSandbox(mode);
    const folder = await makeTemporaryFolder("link-test-");
    await writeFile(join(folder, "secret.txt"), "a secret of the host");
    const project = await RenderDirectory.create(own.settings.workDirectory, false);
    await symlink(linkTo(folder), join(project.root, "link"));
    return compileIn(own, project, `#assert.ne(read("${path}", encoding: none).len(), 0)`);
  }

  const LINKS: readonly Link[] = [
    [(folder) => join(folder, "secret.txt")],
    [(folder) => folder, "link/secret.txt"],
    [(folder) => join("../..", folder.slice(tmpdir().length), "secret.txt")],
    [() => "/etc/passwd"],
    [() => "/proc/self/environ"],
    [() => "/dev/zero"],
  ];

  eachSandbox(it, SANDBOXES)("leads nowhere in %s", async (mode) => {
    for (const link of LINKS) expect(await readThrough(mode, link)).toEqual({ kind: "exited", exitCode: 1 });
  });

  it("is followed without a sandbox, so the tests above are meaningful", async () => {
    for (const link of LINKS.slice(0, 3)) {
      expect(await readThrough("none", link)).toEqual({ kind: "exited", exitCode: 0 });
    }
  });
});

/** A Typst that waits for its input in a sandbox, or several at the same time, all of which are the `pids`. */
async function waitingTypst(
  mode: SandboxMode,
  environment: Readonly<Record<string, string>> = {},
  { output = PDF, count = 1, threads = 1 }: { output?: Output; count?: number; threads?: number } = {},
) {
  const own = await openTestSandbox(mode, environment);
  const supervisor = new TypstSupervisor(own.settings, own.sandbox, own.launcher);
  for (let number = 0; number < count; number++) {
    const started = await supervisor.start({ output, fontCount: 0 }, "now", threads);
    onTestFinished(() => supervisor.discard(started));
  }
  const waiting = () => typstProcessesOf(own.settings.workDirectory);
  await expect.poll(waiting).toHaveLength(count);
  const pids = waiting();
  // The seccomp filter is the last thing that is set up before Typst starts.
  for (const pid of pids) await expect.poll(() => processStatus(pid).Seccomp).toBe("2");
  return { ...own, pid: pids[0] ?? 0, pids };
}

const NO_CAPABILITIES = Object.fromEntries(
  ["CapInh", "CapPrm", "CapEff", "CapAmb"].map((name) => [name, "0000000000000000"]),
);
/**
 * Whether the bounding set, which an exec could bring back, can be emptied. An ordinary user has no-new-privs instead.
 */
const canEmptyBoundingSet = (mode: SandboxMode) => mode === "bubblewrap" || process.getuid?.() === 0;

function limitsOf(pid: number): Record<string, string> {
  const lines = readProc(`${pid}/limits`).split("\n").slice(1);
  return Object.fromEntries(
    lines.map((line): [string, string] => [line.slice(0, 26).trim(), line.slice(26, 68).trim().replace(/\s+/g, " ")]),
  );
}

eachSandbox(describe, SANDBOXES)("a Typst in %s", (mode) => {
  it("has no capability, can get none, and has a seccomp filter and no descriptors but its streams; and the kernel takes it first", async () => {
    const { pid } = await waitingTypst(mode);
    expect(readProc(`${pid}/oom_score_adj`)).toBe("1000\n");
    expect(processStatus(pid)).toMatchObject({ ...NO_CAPABILITIES, NoNewPrivs: "1", Seccomp: "2" });
    if (canEmptyBoundingSet(mode)) expect(processStatus(pid).CapBnd).toBe("0000000000000000");
    // Descriptors that this process has inherited are open in every child too.
    const inherited = new Set(openDescriptors(process.pid));
    const descriptors = openDescriptors(pid).filter((descriptor) => !inherited.has(descriptor));
    const streams = [/^0 -> .*\/launcher\/1\.in$/, /^1 -> .*\/launcher\/1\.out$/, /^2 -> socket:/];
    expect(descriptors.filter((descriptor) => !streams.some((stream) => stream.test(descriptor)))).toEqual([]);
  });

  it("has no environment variables but its time zone and those of its allocator", async () => {
    const { pid, settings, sandbox } = await waitingTypst(mode, { TYPST_ROOT: "/", SERVICE_BACKEND_TOKENS: "secret" });
    const variables = readProc(`${pid}/environ`).split("\0");
    // bubblewrap adds the working directory. So does a shell script in place of setpriv, with more if the shell is bash
    // or busybox. glibc splits its variable in place.
    const ofShell = mode === "landlock" ? /^(?:PWD=|SHLVL=|_=|PATH=\/sbin:)/ : /^PWD=/;
    const own = variables.filter(
      (variable) => variable !== "" && !ofShell.test(variable) && !/^glibc[.]/.test(variable),
    );
    const allocator = mode === "bubblewrap" ? [expect.stringMatching(/^GLIBC_TUNABLES=glibc[.]malloc[.]/)] : [];
    expect(own.toSorted()).toEqual([...allocator, "TZ=UTC"]);
    if (mode !== "bubblewrap") return;
    // Twice, and one would hide that the other is gone: bubblewrap gets none, and passes none on.
    const command = sandbox.programCommand(await RenderDirectory.create(settings.workDirectory, false), []);
    expect([command.environment, command.arguments.includes("--clearenv")]).toEqual([{}, true]);
  });

  it("ends with the process that started it, even if nothing cleans up", async () => {
    const { pid } = await waitingTypst(mode);
    const ancestors = [pid];
    while (ancestors[0] !== process.pid) ancestors.unshift(Number(processStatus(ancestors[0] ?? 0).PPid));
    process.kill(ancestors[1] ?? 0, "SIGKILL");
    // The event loop stands still, because the launcher would kill what is left.
    const deadline = performance.now() + END_TIMEOUT_MILLISECONDS;
    while (isRunning(pid) && performance.now() < deadline) {}
    expect(isRunning(pid)).toBe(false);
  });

  it.each([1, 3])("with %i threads has its resource limits and cannot raise them", async (threads) => {
    const environment = {
      SERVICE_RENDER_MEMORY_BYTES: "268435456",
      SERVICE_MAX_OUTPUT_BYTES: "1000000",
      SERVICE_RENDER_CPU_SECONDS: "7",
    };
    const { pid } = await waitingTypst(mode, environment, { threads });
    const limits = limitsOf(pid);
    expect(limits).toMatchObject({
      "Max address space": "268435456 268435456",
      // In blocks of 512 bytes: a file of exactly the limit passes, and a longer one is longer than the limit.
      "Max file size": "1000448 1000448",
      "Max open files": "256 256",
      "Max stack size": `${stackBytes()} ${stackBytes()}`,
      "Max core file size": "0 0",
    });
    // The hard limit kills without a message, so it may be a little above the soft one.
    const [soft = Number.NaN, hard = Number.NaN] = (limits["Max cpu time"] ?? "").split(" ").map(Number);
    expect(soft).toBe(threads * 7);
    expect(hard).toBeLessThanOrEqual(soft + 5);
  });
});

const HUGE_PAGE_FILES = ["enabled", "hpage_pmd_size"].map((name) => `kernel/mm/transparent_hugepage/${name}`);

describe("a Typst in bubblewrap", () => {
  it.each([
    ["", "unshare"],
    [", also where its shell has no network of its own", "false"],
  ])("shares no namespace with the host or with another one that runs%s", async (_where, unshare) => {
    const programs = await makeTemporaryFolder("programs-test-");
    await symlink(findOnPath(unshare)[0] ?? "", join(programs, "unshare"));
    const { launcher, pids } = await waitingTypst(
      "bubblewrap",
      { PATH: `${programs}:${process.env.PATH}` },
      { count: 2 },
    );
    expect(launcher.hasEmptyNetworks).toBe(unshare === "unshare");
    for (const namespace of ["user", "pid", "net", "ipc", "uts", "mnt", "cgroup"]) {
      const namespaces = await Promise.all(["self", ...pids].map((pid) => readlink(`/proc/${pid}/ns/${namespace}`)));
      expect(new Set(namespaces).size, namespace).toBe(3);
    }
  });

  it("is nobody, sees no process but bubblewrap's own, only its files, and a network that is down", async () => {
    const { pid } = await waitingTypst("bubblewrap");
    for (const map of ["uid_map", "gid_map"]) expect(readProc(`${pid}/${map}`).trim().split(/\s+/)[0]).toBe("65534");
    const inside = processStatus(pid).NSpid?.split("\t").at(-1);
    expect(Number(inside)).toBeLessThanOrEqual(2);
    // The session of the process that started it would be 0 in here.
    expect(processStatus(pid).NSsid?.split("\t").at(-1)).not.toBe("0");
    // A file of the work directory, which says nothing of any process.
    expect(await readdir(`/proc/${pid}/root/proc`, { recursive: true })).toEqual(["self", "self/maps"]);
    expect(readProc(`${pid}/root/proc/self/maps`)).toBe(stackMap(stackBytes(), readProc("self/maps")));
    const names = await readdir(`/proc/${pid}/root`);
    const known = ["typst", "project", "output", "packages", "fonts", "lib", "lib64", "usr", "sys", "proc"];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    const kernel = await readdir(`/proc/${pid}/root/sys`, { recursive: true }).catch(() => []);
    expect(kernel.filter((name) => !"kernel/mm/transparent_hugepage".startsWith(name)).toSorted()).toEqual(
      kernel.length === 0 ? [] : HUGE_PAGE_FILES,
    );
    for (const name of ["project", "packages"]) expect(await readdir(`/proc/${pid}/root/${name}`)).toEqual([]);
    const interfaces = readProc(`${pid}/net/dev`).trim().split("\n").slice(2);
    expect(interfaces.map((line) => line.trim().split(":")[0])).toEqual(["lo"]);
    expect(readProc(`${pid}/net/route`).trim().split("\n").slice(1)).toEqual([]);
  });

  it.each<[string, Output, string[]]>([
    ["nowhere, where its output goes to a stream", PDF, []],
    ["nowhere but to its output, where that is files", PAGES, ["/output"]],
  ])("can write %s", async (_what, output, places) => {
    const { pid } = await waitingTypst("bubblewrap", {}, { output });
    const mounts = readProc(`${pid}/mountinfo`)
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    expect(mounts.length).toBeGreaterThanOrEqual(3);
    const writable = mounts
      .filter(([, , , , , options]) => options?.split(",").includes("rw"))
      .map(([, , , , target]) => target);
    expect(writable).toEqual(places);
    const unsafe = mounts.filter(
      ([, , , , , options = ""]) => !options.includes("nosuid") || !options.includes("nodev"),
    );
    expect(unsafe).toEqual([]);
  });
});

describe("the stack of a Typst", () => {
  /** 200,000 calls: a seventh of a second of processor time if none takes a stack of its own, else more than 1.5. */
  const MANY_CALLS = "for i in range(200000) { let y = calc.sin(i) }";

  eachSandbox(it, SANDBOXES)("is known in %s, so that outermost calls take none of their own", async (mode) => {
    const source = `#${MANY_CALLS}\n#context { ${MANY_CALLS} }`;
    const own = await openTestSandbox(mode, { SERVICE_RENDER_CPU_SECONDS: "2" });
    const project = await RenderDirectory.create(own.settings.workDirectory, false);
    const end = await compileIn(own, project, source);
    expect(end).toEqual({ kind: "exited", exitCode: 0 });
  });

  const PAGE_BYTES = 4096;
  /**
   * What pthread_getattr_np of glibc 2.36 answers for the main thread: the lowest address of its stack; null if it
   * does not know.
   */
  function lowestByGlibc(regions: readonly number[][], stackEnd: number, limit: number): number | null {
    let previousEnd = 0;
    for (const [start = 0, end = 0] of regions) {
      if (start <= stackEnd && stackEnd < end) {
        const top = stackEnd - (stackEnd % PAGE_BYTES) + PAGE_BYTES;
        const bytes = limit - (end - top);
        // Both are unsigned numbers there.
        return top - (top > previousEnd ? Math.min(bytes, top - previousEnd) : bytes);
      }
      previousEnd = end;
    }
    return null;
  }

  it.each([8 * 1024 ** 2, 256 * 1024 ** 2])(
    "is found wherever the kernel puts it, with a limit of %i bytes",
    (limit) => {
      const OWN_END = 0x7ffc_1234_5000;
      const GIBIBYTES = 1024 ** 3;
      const map = stackMap(
        limit,
        `7f0000000000-7f0000001000 r--p 0 a\n7ffc12300000-${OWN_END.toString(16)} rw-p 0 [stack]\n`,
      );
      const regions = map
        .trim()
        .split("\n")
        .map((line) => line.split("-").map((address) => Number.parseInt(address, 16)));
      const distance = fc.integer({ min: -16 * GIBIBYTES + 2 ** 21, max: 16 * GIBIBYTES - 2 ** 21 });
      // Arguments and environment, to which the stack pointer of `main` is close.
      const above = fc.integer({ min: 16, max: 512 * 1024 });
      fc.assert(
        fc.property(distance, above, (from, size) => {
          const end = Math.floor((OWN_END + from) / PAGE_BYTES) * PAGE_BYTES;
          const lowest = lowestByGlibc(regions, end - size, limit) ?? Number.NaN;
          // The kernel lets it grow to here, and glibc may not expect more.
          expect(lowest).toBeGreaterThanOrEqual(end - limit);
          expect(end - size - lowest).toBeGreaterThanOrEqual(limit / 8 - PAGE_BYTES);
        }),
        { numRuns: 2000 },
      );
    },
  );

  it("is not found where this process does not see its own, or may have only a small one", () => {
    const ownMap = "7ffc12300000-7ffc12345000 rw-p 0 [stack]\n";
    expect(stackMap(8 * 1024 ** 2, "")).toBe("");
    expect(stackMap(8 * 1024 ** 2, ownMap)).not.toBe("");
    for (const limit of [0, 4096, 1024 ** 2, 4 * 1024 ** 2]) expect(stackMap(limit, ownMap)).toBe("");
  });

  it.each([
    ["unlimited            unlimited           ", 256 * 1024 ** 2],
    ["8388608              unlimited           ", 256 * 1024 ** 2],
    ["8388608              16777217            ", 16_777_216],
  ])("may not take more than this process itself could: %j", (limits, expected) => {
    expect(stackBytes(`Limit  Soft  Hard\nMax stack size            ${limits} bytes\n`)).toBe(expected);
  });
});

it("the libraries of Typst are not those that the backend was started with", async () => {
  const shell = await listSharedLibraries("/bin/sh");
  const other = (await listSharedLibraries(process.execPath)).find((library) => !shell.includes(library));
  vi.stubEnv("LD_PRELOAD", other);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect([other, await listSharedLibraries("/bin/sh")]).toEqual([expect.stringMatching(/^\//), shell]);
});

it.each([
  ["the superuser with all capabilities", "000001ffffffffff", true, true],
  ["the superuser that may not empty it, so that it does not serve", "0000000000000001", true, true],
  ["the superuser without capabilities", "0000000000000000", true, false],
  ["an ordinary user", "0000000000000000", false, false],
  ["an ordinary user that may empty it", "0000000000000100", false, true],
  ["an ordinary user with another capability", "0000000000000400", false, false],
])("Landlock empties the bounding set for %s: %j", (_who, permitted, isSuperuser, isEmptied) => {
  const option = isEmptied ? ["--bounding-set=-all"] : [];
  expect(boundingSetOption(`CapInh:\t0\nCapPrm:\t${permitted}\nCapEff:\t0\n`, isSuperuser)).toEqual(option);
  expect(boundingSetOption("", isSuperuser)).toEqual([]);
  expect(boundingSetOption("Name:\tCapPrm:\t000001ffffffffff\n", isSuperuser)).toEqual([]);
});

it("an empty network is used only for renders in bubblewrap", async () => {
  const folder = await makeTemporaryFolder("unshare-test-");
  const unsharePath = join(folder, "unshare");
  await writeFile(unsharePath, '#!/bin/sh\necho "bwrap: execvp /none: No such file" >&2; exit 1\n', { mode: 0o755 });
  const found = (sandboxChoice: string) =>
    findEmptyNetwork({ ...readBackendSettings({ SERVICE_SANDBOX: sandboxChoice }), unsharePath });
  const command = [unsharePath, "--user", "--map-current-user", "--net", "--"];
  expect(await Promise.all(["bubblewrap", "auto", "landlock", "none"].map(found))).toEqual([command, command, [], []]);
});

describe("the limits of a render", () => {
  // One byte more than the limit is a whole number of blocks.
  const settings = readBackendSettings({ PATH: process.env.PATH, SERVICE_MAX_OUTPUT_BYTES: "1048575" });

  async function limitsUnder(shell: string, threads: number): Promise<string> {
    const commands = (await chooseResourceLimits(settings, shell))(threads);
    return (await execa(shell, ["-c", [...commands, "cat /proc/self/limits"].join(" && ")])).stdout;
  }

  /** The limit on file size is counted in other blocks by bash and by the same bash that is called sh. */
  const CALLED_SHELLS = SHELLS.flatMap((shell) => {
    const { name, path, title } = shell;
    const asSh = [`sh, which is ${title}`, path, () => linkAsSh(shell)] as const;
    return name === "bash" ? [asSh, [title, path, async () => path ?? ""] as const] : [asSh];
  });

  describe.each(CALLED_SHELLS)("are set by the ulimit of %s", (_title, path, call) => {
    it.skipIf(path === null)("to the same values as by any other", async () => {
      const shell = await call();
      for (const threads of [1, 2])
        expect(await limitsUnder(shell, threads)).toBe(await limitsUnder("/bin/sh", threads));
    });
  });

  // Patterns of sed.
  it.each(["-v", "-S -t", "-H -t", "-f", "-n", "-s", "-[pu]"])(
    "are not set by a shell that ignores ulimit %s, and then no render starts",
    async (option) => {
      const shell = join(await makeTemporaryFolder("shell-test-"), "sh");
      const script = `exec /bin/sh -c "$(printf '%s' "$2" | sed 's/ulimit ${option} [0-9]* && //')"`;
      await writeFile(shell, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      await expect(chooseResourceLimits(settings, shell)).rejects.toThrow(
        `The ulimit of ${shell} cannot limit renders`,
      );
    },
  );

  /** What `chooseResourceLimits` does in a backend that is started with these options of prlimit. */
  async function chooseUnder(...options: readonly string[]) {
    const modules = ["sandbox/resource-limits.ts", "settings.ts"].map((path) => JSON.stringify(moduleUrl(path)));
    const program = `const [{ chooseResourceLimits }, { readBackendSettings }] = [await import(${modules[0]}), await import(${modules[1]})];
      await chooseResourceLimits(readBackendSettings(process.env)).then((limits) => console.log(limits(2).join(", ")), (error) => console.log(error.message));`;
    const command = [...options, process.execPath, "--input-type=module", "--eval", program];
    return (await execa("prlimit", command)).stdout;
  }
  const moduleUrl = (path: string) => new URL(`../../../backend/${path}`, import.meta.url).href;

  it("are never above those of the backend, which an ordinary user cannot raise", async () => {
    const commands = await chooseUnder("--nofile=200:200", "--nproc=900:900", "--cpu=16:16");
    expect(commands.split(", ")).toEqual(
      expect.arrayContaining([
        "ulimit -n 200",
        "ulimit -S -t 15",
        "ulimit -H -t 16",
        expect.stringMatching(/-[pu] 900$/),
      ]),
    );
  });

  it.skipIf(process.getuid?.() === 0)(
    "cannot be what the settings say below those of the backend, and the message names both (skipped for the superuser)",
    async () => {
      const message = await chooseUnder("--fsize=1000000");
      expect(message).toMatch(/"Max file size" of 1000000, and renders need \d+\. .* SERVICE_MAX_OUTPUT_BYTES\.$/);
    },
  );
});
