/**
 * The sandboxes themselves: that the probe tells a sandbox from none, and what a Typst in one has, seen from the host
 * while it waits for its input: namespaces, capabilities, environment, descriptors, limits, mounts.
 */
import { mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { probeSandbox } from "../../../backend/sandbox/probe.ts";
import type { SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { renderArguments } from "../../../backend/typst/command-line.ts";
import { DISCARD_OUTPUT, type TypstEnd, TypstProcess } from "../../../backend/typst/process.ts";
import { RenderStarter } from "../../../backend/typst/render-starter.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import type { Output } from "../../../rules/output-options.ts";
import { processesOf, readProc, typstProcessesOf } from "./leftovers.ts";
import { landlockObstacle, type OwnSandbox, openOwnSandbox, PAGES, PDF } from "./own-sandbox.ts";

const landlockTitle = landlockObstacle === null ? "landlock" : `landlock (skipped: ${landlockObstacle})`;

const ESCAPES = ["reads a file of the host", "writes outside of its output", "opens a socket"];

describe("the probe", () => {
  it("gets out by every way where there is no sandbox", async () => {
    const { settings, sandbox, spawner } = await openOwnSandbox("none");
    expect(await probeSandbox(settings, sandbox, spawner)).toEqual({ compiles: true, escapes: ESCAPES });
  });

  it("stays inside of bubblewrap, and compiles there", () => expectHeld("bubblewrap"));

  it.skipIf(landlockObstacle !== null)(`stays inside of ${landlockTitle}, and compiles there`, () =>
    expectHeld("landlock"),
  );

  it("finds the hole in a sandbox that has one", async () => {
    const { settings, sandbox, spawner } = await openOwnSandbox("bubblewrap");
    // The root is read-only, so the place for the mount must be there.
    await mkdir(join(settings.workDirectory, "sandbox-root", tmpdir()), { recursive: true });
    const leaky = {
      ...sandbox,
      spawnCommand: (...parts: Parameters<typeof sandbox.spawnCommand>) => {
        const spawnCommand = sandbox.spawnCommand(...parts);
        const end = spawnCommand.arguments.indexOf("--chdir");
        return { ...spawnCommand, arguments: spawnCommand.arguments.toSpliced(end, 0, "--bind", tmpdir(), tmpdir()) };
      },
    };
    const { escapes } = await probeSandbox(settings, leaky, spawner);
    expect(escapes).toEqual(["reads a file of the host", "writes outside of its output"]);
  });

  it("leaves nothing behind", async () => {
    const { settings, sandbox, spawner } = await openOwnSandbox("bubblewrap");
    const host = await mkdtemp(join(tmpdir(), "probe-test-"));
    onTestFinished(() => rm(host, { recursive: true, force: true }));
    // Its files of the host, in a place where no other test probes.
    vi.stubEnv("TMPDIR", host);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    await probeSandbox(settings, sandbox, spawner);
    expect((await readdir(settings.workDirectory)).filter((name) => name.startsWith("render-"))).toEqual([]);
    expect(await readdir(host)).toEqual([]);
    expect(processesOf(settings.workDirectory)).toEqual([]);
  });
});

async function expectHeld(mode: SandboxMode): Promise<void> {
  const { settings, sandbox, spawner } = await openOwnSandbox(mode);
  expect(await probeSandbox(settings, sandbox, spawner)).toEqual({ compiles: true, escapes: [] });
}

describe("a symbolic link in a project", () => {
  const SECRET = "a secret of the host";

  /** How a compile ends that reads through the link. */
  async function readThrough(mode: SandboxMode, linkTo: (folder: string) => string, path = "link"): Promise<TypstEnd> {
    const { settings, sandbox, spawner } = await openOwnSandbox(mode);
    const folder = await mkdtemp(join(tmpdir(), "link-test-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "secret.txt"), SECRET);
    const project = await RenderDirectory.create(settings.workDirectory, false);
    await symlink(linkTo(folder), join(project.root, "link"));
    const spawnCommand = sandbox.spawnCommand(
      project,
      renderArguments(settings, sandbox.view(project), { output: PDF, bringsFonts: false }),
    );
    const running = new TypstProcess(spawner, sandbox, spawnCommand, settings.limits.max_output_bytes);
    const { end } = await running.perform({
      input: [Buffer.from(`#assert.ne(read("${path}", encoding: none).len(), 0)`)],
      timeoutMilliseconds: 10_000,
      signal: new AbortController().signal,
      output: DISCARD_OUTPUT,
      files: null,
    });
    return end;
  }

  const LINKS: [string, (folder: string) => string, string?][] = [
    ["to a file of the host", (folder) => join(folder, "secret.txt")],
    ["to a folder of the host", (folder) => folder, "link/secret.txt"],
    ["to a file of the host, relatively", (folder) => join("../..", folder.slice(tmpdir().length), "secret.txt")],
    ["to the host's list of users", () => "/etc/passwd"],
    ["to the environment of its process", () => "/proc/self/environ"],
    ["to a device", () => "/dev/zero"],
  ];

  it.each(LINKS)("%s leads nowhere in bubblewrap", async (_what, linkTo, path) => {
    expect(await readThrough("bubblewrap", linkTo, path)).toEqual({ kind: "exited", exitCode: 1 });
  });

  it.skipIf(landlockObstacle !== null).each(LINKS)(
    `%s leads nowhere in ${landlockTitle}`,
    async (_what, linkTo, path) => {
      expect(await readThrough("landlock", linkTo, path)).toEqual({ kind: "exited", exitCode: 1 });
    },
  );

  it.each(LINKS.slice(0, 3))("%s is followed without a sandbox, so the test is one", async (_what, linkTo, path) => {
    expect(await readThrough("none", linkTo, path)).toEqual({ kind: "exited", exitCode: 0 });
  });
});

interface WaitingTypst extends OwnSandbox {
  readonly pid: string;
}

/** A Typst that waits for its input in a sandbox. */
async function waitingTypst(
  mode: SandboxMode,
  environment: Readonly<Record<string, string>> = {},
  output: Output = PDF,
): Promise<WaitingTypst> {
  const own = await openOwnSandbox(mode, environment);
  const starter = new RenderStarter(own.settings, own.sandbox, own.spawner);
  const started = await starter.start({ output, bringsFonts: false });
  onTestFinished(async () => {
    await starter.discard(started);
  });
  const waiting = () => typstProcessesOf(own.settings.workDirectory);
  await expect.poll(waiting).toHaveLength(1);
  const pid = String(waiting()[0]);
  // The filter is the last thing that is set up before Typst.
  await expect.poll(() => statusOf(pid).Seccomp).toBe("2");
  return { ...own, pid };
}

function statusOf(pid: string): Record<string, string> {
  const lines = readProc(pid, "status").split("\n");
  return Object.fromEntries(
    lines.map((line) => line.split(":\t")).map(([name = "", value = ""]) => [name, value.trim()]),
  );
}

const NO_CAPABILITIES = Object.fromEntries(
  ["CapInh", "CapPrm", "CapEff", "CapAmb"].map((name) => [name, "0000000000000000"]),
);
/** What an exec could bring back: nothing, where this user may empty it. No-new-privs keeps an ordinary user from it. */
const canEmptyBoundingSet = (mode: SandboxMode) => mode === "bubblewrap" || process.getuid?.() === 0;

function limitsOf(pid: string): Record<string, string> {
  const lines = readProc(pid, "limits").split("\n").slice(1);
  return Object.fromEntries(
    lines.map((line): [string, string] => [line.slice(0, 26).trim(), line.slice(26, 68).trim().replace(/\s+/g, " ")]),
  );
}

describe.each<[string, SandboxMode, boolean]>([
  ["bubblewrap", "bubblewrap", false],
  [landlockTitle, "landlock", landlockObstacle !== null],
])("a Typst in %s", (_title, mode, isSkipped) => {
  const test = it.skipIf(isSkipped);

  test("has no capability, can get none, and is bound by a filter of system calls", async () => {
    const { pid } = await waitingTypst(mode);
    expect(statusOf(pid)).toMatchObject({ ...NO_CAPABILITIES, NoNewPrivs: "1", Seccomp: "2" });
    if (canEmptyBoundingSet(mode)) expect(statusOf(pid).CapBnd).toBe("0000000000000000");
  });

  test("has no environment but its time zone and what its allocator asks for", async () => {
    const { pid } = await waitingTypst(mode, { TYPST_ROOT: "/", SERVICE_BACKEND_TOKENS: "secret" });
    const variables = readProc(pid, "environ").split("\0");
    // bubblewrap, and a shell script in the place of setpriv, add the working directory.
    // glibc cuts its variable into pieces where it stands.
    const own = variables.filter((variable) => variable !== "" && !/^(?:PWD=|glibc[.])/.test(variable));
    const allocator = mode === "bubblewrap" ? [expect.stringMatching(/^GLIBC_TUNABLES=glibc[.]malloc[.]/)] : [];
    expect(own.toSorted()).toEqual([...allocator, "TZ=UTC"]);
  });

  test("has its limits, and no way to raise them", async () => {
    const { pid } = await waitingTypst(mode, {
      SERVICE_RENDER_MEMORY_BYTES: "268435456",
      SERVICE_MAX_OUTPUT_BYTES: "1000000",
      SERVICE_RENDER_CPU_SECONDS: "7",
    });
    const limits = limitsOf(pid);
    expect(limits).toMatchObject({
      "Max address space": "268435456 268435456",
      "Max file size": "1000001 1000001",
      "Max open files": "256 256",
      "Max core file size": "0 0",
    });
    // The hard limit kills without a word, so it may be above the other; not far.
    const [soft = Number.NaN, hard = Number.NaN] = (limits["Max cpu time"] ?? "").split(" ").map(Number);
    expect(soft).toBe(7);
    expect(hard).toBeLessThanOrEqual(soft + 5);
  });

  test("has nothing open but its streams", async () => {
    const { pid } = await waitingTypst(mode);
    // What this process has been given open by whoever started it, every child has too.
    const inherited = new Set(await descriptorsOf("self"));
    const descriptors = (await descriptorsOf(pid)).filter((descriptor) => !inherited.has(descriptor));
    expect(descriptors.filter((descriptor) => !/^[0-4] -> (?:socket|pipe):/.test(descriptor))).toEqual([]);
  });
});

/** What a process has open, as `number -> target`. */
async function descriptorsOf(pid: string): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`);
  return Promise.all(
    names.map(async (name) => `${name} -> ${await readlink(`/proc/${pid}/fd/${name}`).catch(() => "closed")}`),
  );
}

const HUGE_PAGE_FILES = ["enabled", "hpage_pmd_size"].map((name) => `kernel/mm/transparent_hugepage/${name}`);

describe("a Typst in bubblewrap", () => {
  it("has namespaces of its own", async () => {
    const { pid } = await waitingTypst("bubblewrap");
    for (const namespace of ["user", "pid", "net", "ipc", "uts", "mnt", "cgroup"]) {
      const [own, ours] = await Promise.all([
        readlink(`/proc/${pid}/ns/${namespace}`),
        readlink(`/proc/self/ns/${namespace}`),
      ]);
      expect(own, namespace).not.toBe(ours);
    }
  });

  it("sees no process but bubblewrap's own", async () => {
    const { pid } = await waitingTypst("bubblewrap");
    const inside = statusOf(pid).NSpid?.split("\t").at(-1);
    expect(Number(inside)).toBeLessThanOrEqual(2);
    expect(await readdir(`/proc/${pid}/root`)).not.toContain("proc");
  });

  it("is nobody", async () => {
    const { pid } = await waitingTypst("bubblewrap");
    expect(readProc(pid, "uid_map").trim().split(/\s+/)[0]).toBe("65534");
    expect(readProc(pid, "gid_map").trim().split(/\s+/)[0]).toBe("65534");
  });

  it.each<[string, Output, string[]]>([
    ["nowhere, where its output goes to a stream", PDF, []],
    ["nowhere but to its output, where that is files", PAGES, ["/output"]],
  ])("can write %s", async (_what, output, places) => {
    const { pid } = await waitingTypst("bubblewrap", {}, output);
    const mounts = readProc(pid, "mountinfo")
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

  it("sees Typst, its libraries, its project, and nothing else", async () => {
    const { pid } = await waitingTypst("bubblewrap");
    const names = await readdir(`/proc/${pid}/root`);
    const known = ["typst", "project", "output", "packages", "fonts", "lib", "lib64", "usr", "sys"];
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    const kernel = await readdir(`/proc/${pid}/root/sys`, { recursive: true }).catch(() => []);
    expect(kernel.filter((name) => !"kernel/mm/transparent_hugepage".startsWith(name)).toSorted()).toEqual(
      kernel.length === 0 ? [] : HUGE_PAGE_FILES,
    );
    expect(await readdir(`/proc/${pid}/root/project`)).toEqual([]);
    expect(await readdir(`/proc/${pid}/root/packages`)).toEqual([]);
  });

  it("has the loopback interface of its own network alone, and that is down", async () => {
    const { pid } = await waitingTypst("bubblewrap");
    const interfaces = readProc(pid, "net/dev").trim().split("\n").slice(2);
    expect(interfaces.map((line) => line.trim().split(":")[0])).toEqual(["lo"]);
    expect(readProc(pid, "net/route").trim().split("\n").slice(1)).toEqual([]);
  });
});
