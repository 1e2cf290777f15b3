/**
 * The seccomp filter, run as the kernel runs it: by an interpreter of classic BPF, on system calls of each architecture.
 */
import { describe, expect, it } from "vitest";
import { seccompFilter } from "../../../backend/sandbox/seccomp.ts";

/** The input of a filter: struct seccomp_data. */
interface Call {
  readonly architecture: number;
  readonly number: number;
  /** Six at most; missing ones are 0. */
  readonly arguments?: readonly bigint[];
}

const ALLOW = "allow";
const KILL = "kill the process";
const EPERM = "errno 1";
const ENOSYS = "errno 38";
const TRAP = "signal SIGSYS";

/** Runs the filter. Throws if the kernel would not load it. */
function validate(filter: Buffer, { architecture, number, arguments: values = [] }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of values.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  let accumulator = 0;
  let position = 0;
  while (position * 8 < filter.length) {
    const code = filter.readUInt16LE(position * 8);
    const operand = filter.readUInt32LE(position * 8 + 4);
    const jump = (isTrue: boolean) => filter.readUInt8(position * 8 + (isTrue ? 2 : 3));
    switch (code) {
      case 0x20:
        accumulator = data.readUInt32LE(operand);
        break;
      case 0x15:
        position += jump(accumulator === operand);
        break;
      case 0x25:
        position += jump(accumulator > operand);
        break;
      case 0x35:
        position += jump(accumulator >= operand);
        break;
      case 0x45:
        position += jump((accumulator & operand) !== 0);
        break;
      case 0x06:
        return verdict(operand);
      default:
        throw new Error(`instruction ${code} is none that a filter may have`);
    }
    position++;
  }
  throw new Error("the filter ends without a verdict");
}

function verdict(value: number): string {
  switch ((value & 0xffff0000) >>> 0) {
    case 0x7fff0000:
      return ALLOW;
    case 0x80000000:
      return KILL;
    case 0x00030000:
      return TRAP;
    case 0x00050000:
      return `errno ${value & 0xffff}`;
    default:
      throw new Error(`verdict ${value} is unknown`);
  }
}

const SIGCHLD = 17;
/** Threads of glibc and of musl: CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID, CHILD_CLEARTID. */
const THREAD = 0x3d0f00;
const NEW_USER_NAMESPACE = 0x10000000;

const PROCESSORS = {
  x64: {
    architecture: 0xc000003e,
    clone: 56,
    prlimit64: 302,
    raise: { tkill: 200, tgkill: 234 },
    allowed: {
      ...{ read: 0, write: 1, close: 3, stat: 4, fstat: 5, lstat: 6, poll: 7, lseek: 8, mmap: 9, mprotect: 10 },
      ...{ munmap: 11, brk: 12, rt_sigaction: 13, rt_sigprocmask: 14, rt_sigreturn: 15, pread64: 17, readv: 19 },
      ...{ writev: 20, access: 21, sched_yield: 24, mremap: 25, madvise: 28, nanosleep: 35, getpid: 39, execve: 59 },
      ...{ exit: 60, wait4: 61, uname: 63, fcntl: 72, ftruncate: 77, getcwd: 79, readlink: 89, getrlimit: 97 },
      ...{ sysinfo: 99, capget: 125, capset: 126, sigaltstack: 131, prctl: 157, arch_prctl: 158, gettid: 186 },
      ...{ futex: 202, sched_getaffinity: 204, getdents64: 217, set_tid_address: 218, restart_syscall: 219 },
      ...{ clock_gettime: 228, clock_nanosleep: 230, exit_group: 231, openat: 257, newfstatat: 262, readlinkat: 267 },
      ...{ ppoll: 271, set_robust_list: 273, getrandom: 318, membarrier: 324, statx: 332, rseq: 334 },
      ...{ faccessat2: 439, landlock_create_ruleset: 444, landlock_add_rule: 445, landlock_restrict_self: 446 },
    },
    refused: {
      ...{ open: 2, ioctl: 16, dup2: 33, socket: 41, connect: 42, sendto: 44, bind: 49, socketpair: 53, fork: 57 },
      ...{ vfork: 58, kill: 62, rename: 82, mkdir: 83, unlink: 87, symlink: 88, chmod: 90, chown: 92, ptrace: 101 },
      ...{ setuid: 105, rt_sigqueueinfo: 129, personality: 135, pivot_root: 155, setrlimit: 160, chroot: 161 },
      ...{ mount: 165, reboot: 169, init_module: 175, kexec_load: 246, add_key: 248, keyctl: 250, mknodat: 259 },
      ...{ linkat: 265, symlinkat: 266, unshare: 272, rt_tgsigqueueinfo: 297, perf_event_open: 298 },
      ...{ open_by_handle_at: 304, setns: 308, process_vm_readv: 310, process_vm_writev: 311, finit_module: 313 },
      ...{ memfd_create: 319, bpf: 321, execveat: 322, userfaultfd: 323, pidfd_send_signal: 424 },
      ...{ io_uring_setup: 425, io_uring_enter: 426, open_tree: 428, move_mount: 429, fsopen: 430, pidfd_open: 434 },
      ...{ pidfd_getfd: 438, mount_setattr: 442, beyond: 100_000 },
    },
  },
  arm64: {
    architecture: 0xc00000b7,
    clone: 220,
    prlimit64: 261,
    raise: { tkill: 130, tgkill: 131 },
    allowed: {
      ...{ getcwd: 17, fcntl: 25, ftruncate: 46, faccessat: 48, openat: 56, close: 57, getdents64: 61, lseek: 62 },
      ...{ read: 63, write: 64, readv: 65, writev: 66, pread64: 67, ppoll: 73, readlinkat: 78, newfstatat: 79 },
      ...{ fstat: 80, capget: 90, capset: 91, exit: 93, exit_group: 94, set_tid_address: 96, futex: 98 },
      ...{ set_robust_list: 99, nanosleep: 101, clock_gettime: 113, clock_nanosleep: 115, sched_getaffinity: 123 },
      ...{ sched_yield: 124, restart_syscall: 128, sigaltstack: 132, rt_sigaction: 134, rt_sigprocmask: 135 },
      ...{ rt_sigreturn: 139, uname: 160, prctl: 167, getpid: 172, gettid: 178, sysinfo: 179, brk: 214, munmap: 215 },
      ...{ mremap: 216, execve: 221, mmap: 222, mprotect: 226, madvise: 233, wait4: 260, getrandom: 278 },
      ...{ membarrier: 283, statx: 291, rseq: 293, faccessat2: 439, landlock_create_ruleset: 444 },
      ...{ landlock_add_rule: 445, landlock_restrict_self: 446 },
    },
    refused: {
      ...{ ioctl: 29, mknodat: 33, mkdirat: 34, unlinkat: 35, symlinkat: 36, linkat: 37, mount: 40, pivot_root: 41 },
      ...{ chroot: 51, fchmodat: 53, fchownat: 54, personality: 92, unshare: 97, kexec_load: 104, init_module: 105 },
      ...{ ptrace: 117, kill: 129, rt_sigqueueinfo: 138, reboot: 142, setuid: 146, setrlimit: 164, socket: 198 },
      ...{ socketpair: 199, bind: 200, connect: 203, sendto: 206, add_key: 217, keyctl: 219, rt_tgsigqueueinfo: 240 },
      ...{ perf_event_open: 241, open_by_handle_at: 265, setns: 268, process_vm_readv: 270, process_vm_writev: 271 },
      ...{ finit_module: 273, memfd_create: 279, bpf: 280, execveat: 281, userfaultfd: 282, pidfd_send_signal: 424 },
      ...{ io_uring_setup: 425, io_uring_enter: 426, open_tree: 428, move_mount: 429, fsopen: 430, pidfd_open: 434 },
      ...{ pidfd_getfd: 438, mount_setattr: 442, beyond: 100_000 },
    },
  },
} as const;

/** Possible arguments of a call, from no bit to every bit. */
const SOME_ARGUMENTS: readonly (readonly bigint[])[] = [
  [],
  [1n, 2n, 3n, 4n, 5n, 6n],
  [0n, 0x8912n],
  [BigInt(THREAD), BigInt(THREAD)],
  Array(6).fill(0xffff_ffff_ffff_ffffn),
];

function filterOf(processor: string): Buffer {
  const filter = seccompFilter(processor);
  if (filter === null) throw new Error(`there is no filter for ${processor}`);
  return filter;
}

describe.each(Object.entries(PROCESSORS))("the seccomp filter for %s", (processor, calls) => {
  const { architecture, clone, prlimit64, raise, allowed, refused } = calls;
  const filter = filterOf(processor);
  const validateNumber = (number: number, ...values: readonly (number | bigint)[]) =>
    validate(filter, { architecture, number, arguments: values.map(BigInt) });
  /** The verdicts on a call whatever its arguments are. */
  const verdicts = (number: number) => new Set(SOME_ARGUMENTS.map((values) => validateNumber(number, ...values)));

  it.each(Object.entries(allowed))("allows %s, whatever its arguments are", (_name, number) => {
    expect(verdicts(number)).toEqual(new Set([ALLOW]));
  });

  it.each(Object.entries(refused))("refuses %s, whatever its arguments are", (_name, number) => {
    expect(verdicts(number)).toEqual(new Set([EPERM]));
  });

  it.each(Object.entries(raise))("ends the caller of %s, whatever its arguments are", (_name, number) => {
    expect(verdicts(number)).toEqual(new Set([TRAP]));
  });

  it("allows a process to read its own limits but not those of another", () => {
    expect(validateNumber(prlimit64, 0, 9)).toBe(ALLOW);
    for (const other of [1, 0x7fff_ffff, 0xffff_ffffn, 0xffff_ffff_ffff_ffffn]) {
      expect(validateNumber(prlimit64, other, 9)).toBe(EPERM);
    }
  });

  it("allows threads but no processes", () => {
    expect(validateNumber(clone, THREAD)).toBe(ALLOW);
    expect(validateNumber(clone, SIGCHLD)).toBe(EPERM);
    expect(validateNumber(clone, 0)).toBe(EPERM);
    expect(validateNumber(clone, NEW_USER_NAMESPACE | SIGCHLD)).toBe(EPERM);
    // Only the first argument contains the flags.
    expect(validateNumber(clone, SIGCHLD, THREAD, THREAD, THREAD, THREAD, THREAD)).toBe(EPERM);
  });

  it("reports clone3 as not implemented, so that libc uses clone", () => {
    expect(verdicts(435)).toEqual(new Set([ENOSYS]));
  });

  it("kills the caller of a system call of another architecture", () => {
    const others = [0x40000003, 0xc000003e, 0xc00000b7, 0x40000028, 0, 0xffffffff].filter(
      (one) => one !== architecture,
    );
    for (const other of others) expect(validate(filter, { architecture: other, number: 0 })).toBe(KILL);
  });

  it("kills the caller of an x32 system call", () => {
    for (const number of [0x40000000, 0x40000000 + 41, 0x40000209, 0xffffffff])
      expect(validateNumber(number)).toBe(KILL);
  });

  it("has a verdict on every number and allows only what is on its list", () => {
    const conditional: readonly number[] = [clone, prlimit64];
    const permitted: number[] = [];
    for (let number = 0; number < 2048; number++) {
      if (!conditional.includes(number) && verdicts(number).has(ALLOW)) permitted.push(number);
    }
    expect(permitted).toEqual(Object.values(allowed).toSorted((one, other) => one - other));
  });

  it("can be loaded by the kernel", () => {
    expect(filter.length % 8).toBe(0);
    expect(filter.length / 8).toBeLessThanOrEqual(4096);
  });
});

it("there is no filter for an unknown architecture", () => {
  expect(seccompFilter("riscv64")).toBeNull();
});
