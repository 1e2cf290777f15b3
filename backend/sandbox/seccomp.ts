/**
 * The system calls that Typst may make, as a seccomp filter in the kernel's own form (classic BPF).
 *
 * The filter is an allow-list: every other call fails with EPERM. No sockets, no new processes (threads only), no mounts, no
 * tracing, no keys, no io_uring, no signals. The list is what strace shows for compiles of every format, plus calls for
 * waiting and mapping that glibc and musl make only sometimes. A few more are for the sandbox's own programs, which run under
 * the filter, too: bubblewrap waits for Typst (wait4), setpriv drops its capabilities and then sets up Landlock.
 *
 * ioctl is not on the list, although strace shows one: the check whether standard error is a terminal (TCGETS of glibc,
 * TIOCGWINSZ of musl). For it, EPERM is as good an answer as ENOTTY. On the sockets that are Typst's streams, ioctl would
 * also show the host's network interfaces under Landlock.
 */

/** AUDIT_ARCH_* of <linux/audit.h>, and the numbers of the calls by name. */
interface Architecture {
  readonly audit: number;
  readonly clone: number;
  readonly clone3: number;
  readonly prlimit64: number;
  /** The calls by which libc raises a signal. */
  readonly raise: Readonly<Record<string, number>>;
  readonly allowed: Readonly<Record<string, number>>;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    clone: 56,
    clone3: 435,
    prlimit64: 302,
    raise: { tkill: 200, tgkill: 234 },
    allowed: {
      read: 0,
      write: 1,
      close: 3,
      stat: 4,
      fstat: 5,
      lstat: 6,
      poll: 7,
      lseek: 8,
      mmap: 9,
      mprotect: 10,
      munmap: 11,
      brk: 12,
      rt_sigaction: 13,
      rt_sigprocmask: 14,
      rt_sigreturn: 15,
      pread64: 17,
      readv: 19,
      writev: 20,
      access: 21,
      sched_yield: 24,
      mremap: 25,
      madvise: 28,
      nanosleep: 35,
      getpid: 39,
      execve: 59,
      exit: 60,
      wait4: 61,
      uname: 63,
      fcntl: 72,
      ftruncate: 77,
      getcwd: 79,
      readlink: 89,
      getrlimit: 97,
      sysinfo: 99,
      capget: 125,
      capset: 126,
      sigaltstack: 131,
      prctl: 157,
      arch_prctl: 158,
      gettid: 186,
      futex: 202,
      sched_getaffinity: 204,
      getdents64: 217,
      set_tid_address: 218,
      restart_syscall: 219,
      clock_gettime: 228,
      clock_nanosleep: 230,
      exit_group: 231,
      openat: 257,
      newfstatat: 262,
      readlinkat: 267,
      ppoll: 271,
      set_robust_list: 273,
      getrandom: 318,
      membarrier: 324,
      statx: 332,
      rseq: 334,
      faccessat2: 439,
      landlock_create_ruleset: 444,
      landlock_add_rule: 445,
      landlock_restrict_self: 446,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    clone: 220,
    clone3: 435,
    prlimit64: 261,
    raise: { tkill: 130, tgkill: 131 },
    allowed: {
      getcwd: 17,
      fcntl: 25,
      ftruncate: 46,
      faccessat: 48,
      openat: 56,
      close: 57,
      getdents64: 61,
      lseek: 62,
      read: 63,
      write: 64,
      readv: 65,
      writev: 66,
      pread64: 67,
      ppoll: 73,
      readlinkat: 78,
      newfstatat: 79,
      fstat: 80,
      capget: 90,
      capset: 91,
      exit: 93,
      exit_group: 94,
      set_tid_address: 96,
      futex: 98,
      set_robust_list: 99,
      nanosleep: 101,
      clock_gettime: 113,
      clock_nanosleep: 115,
      sched_getaffinity: 123,
      sched_yield: 124,
      restart_syscall: 128,
      sigaltstack: 132,
      rt_sigaction: 134,
      rt_sigprocmask: 135,
      rt_sigreturn: 139,
      uname: 160,
      prctl: 167,
      getpid: 172,
      gettid: 178,
      sysinfo: 179,
      brk: 214,
      munmap: 215,
      mremap: 216,
      execve: 221,
      mmap: 222,
      mprotect: 226,
      madvise: 233,
      wait4: 260,
      getrandom: 278,
      membarrier: 283,
      statx: 291,
      rseq: 293,
      faccessat2: 439,
      landlock_create_ruleset: 444,
      landlock_add_rule: 445,
      landlock_restrict_self: 446,
    },
  },
};

/** Offsets in struct seccomp_data. */
const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const FIRST_ARGUMENT_OFFSET = 16;

/** Instruction codes of <linux/bpf_common.h>. */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_SET = 0x45;
const RETURN = 0x06;

/** Verdicts of <linux/seccomp.h>. */
const KILL_PROCESS = 0x80000000;
const ALLOW = 0x7fff0000;
const TRAP = 0x00030000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;

/** With this flag clone(2) makes a thread, without it a process. */
const CLONE_THREAD = 0x00010000;
/** Marks a call of the x32 ABI, a second system call table that none of our programs use. */
const X32_BIT = 0x40000000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/**
 * The filter for a processor, by its name in `process.arch`.
 *
 * @returns the bytes of the BPF program, or null for a processor whose system calls are not listed here.
 */
export function seccompFilter(architectureName: string): Buffer | null {
  const architecture = ARCHITECTURES[architectureName];
  if (architecture === undefined) return null;
  const { audit, clone, clone3, prlimit64, raise, allowed } = architecture;
  return assemble([
    [LOAD, 0, 0, ARCHITECTURE_OFFSET],
    [JUMP_IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_OFFSET],
    [JUMP_IF_AT_LEAST, 0, 1, X32_BIT],
    [RETURN, 0, 0, KILL_PROCESS],
    // clone3 passes its flags in memory, which filters cannot read. If it fails with ENOSYS, libc uses clone.
    [JUMP_IF_EQUAL, 0, 1, clone3],
    [RETURN, 0, 0, ERRNO | ENOSYS],
    [JUMP_IF_EQUAL, 0, 4, clone],
    [LOAD, 0, 0, FIRST_ARGUMENT_OFFSET],
    [JUMP_IF_SET, 0, 1, CLONE_THREAD],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, ERRNO | EPERM],
    // A process may read its own limits (process id 0), but no others.
    [JUMP_IF_EQUAL, 0, 4, prlimit64],
    [LOAD, 0, 0, FIRST_ARGUMENT_OFFSET],
    [JUMP_IF_EQUAL, 0, 1, 0],
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, ERRNO | EPERM],
    // abort(3) sends SIGABRT to its own thread. The filter does not know the process id, so it cannot distinguish that from a
    // signal to another process of the same user, which Landlock does not prevent. The trap sends SIGSYS to the caller, which
    // ends it: so an abort still ends the process, on every processor and with every libc, and no signal reaches another.
    ...Object.values(raise).flatMap((number) => onNumber(number, TRAP)),
    ...Object.values(allowed).flatMap((number) => onNumber(number, ALLOW)),
    [RETURN, 0, 0, ERRNO | EPERM],
  ]);
}

/** The verdict on one call, whatever its arguments are. */
function onNumber(number: number, verdict: number): Instruction[] {
  return [
    [JUMP_IF_EQUAL, 0, 1, number],
    [RETURN, 0, 0, verdict],
  ];
}

function assemble(instructions: readonly Instruction[]): Buffer {
  const INSTRUCTION_BYTES = 8;
  const program = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  for (const [index, [code, ifTrue, ifFalse, operand]] of instructions.entries()) {
    const offset = index * INSTRUCTION_BYTES;
    program.writeUInt16LE(code, offset);
    program.writeUInt8(ifTrue, offset + 2);
    program.writeUInt8(ifFalse, offset + 3);
    program.writeUInt32LE(operand >>> 0, offset + 4);
  }
  return program;
}
