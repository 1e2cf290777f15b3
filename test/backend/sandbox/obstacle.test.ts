/** What a backend says if its sandbox cannot start. */
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, inject, it } from "vitest";
import { readProc } from "../../../backend/processes/proc.ts";
import {
  type BubblewrapFacts,
  describeBubblewrapObstacle,
  findBubblewrapFacts,
} from "../../../backend/sandbox/bubblewrap-obstacle.ts";
import { describeLandlockObstacle, type LandlockFacts } from "../../../backend/sandbox/landlock-obstacle.ts";
import { tryProgram } from "../../../backend/sandbox/trial.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { takeFreePort } from "../../../scripts/start/local-service.ts";
import { landlockNote } from "../../support/backend/test-sandbox.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const BUBBLEWRAP: BubblewrapFacts = {
  isSuperuser: false,
  isFiltered: false,
  bubblewrap: { kind: "fails", complaint: "bwrap: No permissions to create new namespace" },
  canReadProcSys: true,
  maxUserNamespaces: 96_365,
  unprivilegedUserNamespaces: null,
  apparmorRestriction: null,
  isWorkDirectoryExecutable: true,
};

const fails = (complaint: string) => ({ bubblewrap: { kind: "fails", complaint: `bwrap: ${complaint}` } as const });

const LANDLOCK: LandlockFacts = {
  isSuperuser: false,
  isFiltered: false,
  setprivVersion: "util-linux 2.41",
  knowsLandlock: true,
  setpriv: { kind: "works" },
};

const complaint = (answer: string) =>
  ({ kind: "fails", complaint: `setpriv: landlock_create_ruleset failed: ${answer}` }) as const;

describe("the explanation for bubblewrap", () => {
  it.each<[string, Partial<BubblewrapFacts>, string]>([
    ["it is missing", { bubblewrap: { kind: "missing" } }, "bubblewrap is missing"],
    ["/proc is masked", { canReadProcSys: false, maxUserNamespaces: null }, "/proc is masked"],
    ["the kernel allows no user namespace", { maxUserNamespaces: 0 }, "sysctl user.max_user_namespaces=0"],
    ["ordinary users may make none", { unprivilegedUserNamespaces: 0 }, "sysctl kernel.unprivileged_userns_clone=0"],
    ["a container's filter closes them", { isFiltered: true }, "Docker's default seccomp profile"],
    ["AppArmor closes them", { apparmorRestriction: 1 }, "deploy/apparmor-bubblewrap"],
    [
      "AppArmor is the host's, and the filter the container's",
      { apparmorRestriction: 1, isFiltered: true },
      "Docker's",
    ],
    [
      "AppArmor closes them to a service that systemd filters",
      { apparmorRestriction: 1, isFiltered: true, ...fails("setting up uid map: Permission denied") },
      "deploy/apparmor-bubblewrap",
    ],
    [
      "systemd hides openat2",
      { isFiltered: true, ...fails("Can't open source /: Function not implemented") },
      "RestrictSUIDSGID=yes",
    ],
    [
      "a container's filter refuses a host name",
      { isFiltered: true, ...fails("Can't set hostname to sandbox: Operation not permitted") },
      "Podman's default seccomp profile",
    ],
    ["a filter refuses something else", { isFiltered: true, ...fails("Can't mount proc") }, "refuses something"],
    ["nothing usual is found", { apparmorRestriction: 0, unprivilegedUserNamespaces: 1 }, "no usual cause was found"],
    ["rules for ordinary users do not bind the superuser", { isSuperuser: true, apparmorRestriction: 1 }, "no usual"],
    [
      "the work directory is mounted noexec",
      { bubblewrap: { kind: "works" }, isWorkDirectoryExecutable: false },
      "mounted noexec",
    ],
    ["it works", { bubblewrap: { kind: "works" } }, "does SERVICE_TYPST_BIN run"],
  ])("where %s", (_what, facts, words) => {
    expect(describeBubblewrapObstacle({ ...BUBBLEWRAP, ...facts })).toContain(words);
  });

  it("ends with its own complaint", () => {
    expect(describeBubblewrapObstacle(BUBBLEWRAP)).toMatch(/ \(bwrap: No permissions to create new namespace\)$/);
  });
});

it.each<[string, Partial<LandlockFacts>, string]>([
  ["setpriv is missing", { setpriv: { kind: "missing" } }, "setpriv is missing"],
  [
    "setpriv is too old",
    { knowsLandlock: false, setprivVersion: "util-linux 2.38.1", setpriv: { kind: "fails", complaint: "usage" } },
    "setpriv is too old (this is util-linux 2.38.1): util-linux 2.41",
  ],
  ["setpriv is so old that it has no version", { knowsLandlock: false, setprivVersion: null }, "too old: util-linux"],
  ["the kernel has none", { setpriv: complaint("Function not implemented") }, "The kernel has no Landlock"],
  ["the kernel's is off", { setpriv: complaint("Operation not supported") }, "not switched on"],
  [
    "a container's filter refuses it",
    { setpriv: complaint("Operation not permitted"), isFiltered: true },
    "older than Landlock",
  ],
  ["nothing usual is found", { setpriv: complaint("Invalid argument") }, "no usual cause was found"],
  ["it works", {}, "does SERVICE_TYPST_BIN run"],
])("the explanation for Landlock where %s", (_what, facts, words) => {
  expect(describeLandlockObstacle({ ...LANDLOCK, ...facts })).toContain(words);
});

/** The command line of the backend of this checkout. */
const BACKEND = [process.execPath, join(import.meta.dirname, "../../../backend/main.ts")];

/** Starts the backend through a command that takes something away from it; expects that it ends and says why. */
async function expectRefusal(words: string, sandbox: string, command: readonly string[], setting: object = {}) {
  const workDirectory = await makeTemporaryFolder("obstacle-test-");
  const [program = "", ...options] = [...command, ...BACKEND];
  const env = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    SERVICE_SANDBOX: sandbox,
    SERVICE_TYPST_BIN: typstPath(),
    SERVICE_BUBBLEWRAP_BIN: inject("bubblewrapPath"),
    SERVICE_SETPRIV_BIN: inject("setprivPath") ?? undefined,
    SERVICE_WORK_DIRECTORY: workDirectory,
    SERVICE_PORT: String(await takeFreePort()),
    ...setting,
  };
  const { exitCode, stderr } = await execa(program, options, {
    env,
    extendEnv: false,
    timeout: 250_000,
    reject: false,
  });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(words)]);
}

const ENOSYS = 38;
const EPERM = 1;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

const LOAD_NUMBER: Instruction = [0x20, 0, 0, 0];
const LOAD_FIRST_ARGUMENT: Instruction = [0x20, 0, 0, 16];
const ALLOW: Instruction = [0x06, 0, 0, 0x7fff_0000];
const refuse = (error: number): Instruction => [0x06, 0, 0, 0x0005_0000 | error];

/** A command that runs another one behind a seccomp filter, as a container's runtime does. */
async function behindFilter(program: readonly Instruction[]): Promise<readonly string[]> {
  const bytes = program.map(([code, ifTrue, ifFalse, operand]) => {
    const instruction = Buffer.alloc(8);
    instruction.writeUInt16LE(code);
    instruction.set([ifTrue, ifFalse], 2);
    instruction.writeUInt32LE(operand, 4);
    return instruction;
  });
  const folder = await makeTemporaryFolder("filter-test-");
  const path = join(folder, "filter.bpf");
  await writeFile(path, Buffer.concat(bytes));
  return [inject("setprivPath") ?? "setpriv", "--no-new-privs", "--seccomp-filter", path, "--"];
}

const CLONE = process.arch === "arm64" ? 220 : 56;
/** Every CLONE_NEW* flag of <linux/sched.h>. */
const NEW_NAMESPACES = 0x7e02_0000;
const LANDLOCK_CREATE_RULESET = 444;

describe("the facts of this machine", () => {
  it("tell that a work directory is none in which programs run", async () => {
    const settings = readBackendSettings({ SERVICE_WORK_DIRECTORY: "/nonexistent" });
    expect(await findBubblewrapFacts(settings)).toMatchObject({ isWorkDirectoryExecutable: false });
  });

  it.each([
    ["the first line that says something", "echo >&2; echo one >&2; echo two >&2; exit 3", "one"],
    ["at most 300 characters", `printf 'x%.0s' $(seq 301) >&2; exit 1`, "x".repeat(300)],
    ["its exit code if it says nothing", "exit 3", "exit code 3"],
  ])("name of a program that fails %s", async (_what, script, complaint) => {
    expect(await tryProgram("/bin/sh", ["-c", script])).toEqual({ kind: "fails", complaint });
  });
});

describe("a backend ends and names the cause", () => {
  it("if /proc is masked", async () => {
    const command = [inject("bubblewrapPath"), "--dev-bind", "/", "/", "--tmpfs", "/proc/sys", "--"];
    await expectRefusal("/proc is masked", "bubblewrap", command);
  });

  it.skipIf(landlockNote !== "")(`if a container's seccomp filter refuses user namespaces${landlockNote}`, async () => {
    const filter = await behindFilter([
      LOAD_NUMBER,
      [0x15, 0, 3, CLONE],
      LOAD_FIRST_ARGUMENT,
      [0x45, 0, 1, NEW_NAMESPACES],
      refuse(EPERM),
      ALLOW,
    ]);
    await expectRefusal("Docker's default seccomp profile", "bubblewrap", filter);
  });

  // Ubuntu's setting binds every program without its own profile, such as a bubblewrap in another place. Only its
  // kernel has it; elsewhere this would be a skipped test, which the attack suite takes for a failure.
  if (readProc("sys/kernel/apparmor_restrict_unprivileged_userns").trim() === "1") {
    it("if AppArmor closes user namespaces", async () => {
      const elsewhere = join(await makeTemporaryFolder("apparmor-test-"), "bwrap");
      await copyFile(inject("bubblewrapPath"), elsewhere);
      await expectRefusal("deploy/apparmor-bubblewrap", "bubblewrap", [], { SERVICE_BUBBLEWRAP_BIN: elsewhere });
    });
  }

  it.skipIf(landlockNote !== "").each([
    ["knows no Landlock", ENOSYS, "The kernel has no Landlock"],
    ["is behind a filter that refuses it", EPERM, "refuses Landlock"],
  ])(`if the kernel %s${landlockNote}`, async (_what, error, words) => {
    const filter = await behindFilter([LOAD_NUMBER, [0x15, 0, 1, LANDLOCK_CREATE_RULESET], refuse(error), ALLOW]);
    await expectRefusal(words, "landlock", filter);
  });
});
