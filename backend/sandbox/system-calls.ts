/**
 * The system calls that Typst may make, and with which arguments: an allow-list, from which `seccomp.ts` makes the
 * kernel's filter.
 *
 * No sockets, no new processes (threads only), no mounts, no tracing, no keys, no io_uring, no signals to other
 * processes, no files without a name. The list is what strace shows for compiles of every format, plus calls that glibc
 * and musl make only sometimes. A few more are for the sandbox's own programs, which also run under the filter; their
 * arguments are limited to those that cannot loosen anything.
 *
 * ioctl is not on the list, although strace shows one call: it asks whether standard error is a terminal (TCGETS of
 * glibc, TIOCGWINSZ of musl), and EPERM answers that as well as ENOTTY. Standard error is a socket, on which ioctl
 * would also show the host's network interfaces under Landlock; and on any stream, FIOASYNC would arm signals.
 */

/** The bits under `mask` of one 32-bit half of an argument must equal one of `values`. */
export interface ArgumentCheck {
  readonly argument: number;
  readonly half: "lower" | "upper";
  readonly mask: number;
  readonly values: readonly number[];
}

export interface CallRule {
  /** The call is allowed if all checks of one of these lists hold. */
  readonly allowedIf: readonly (readonly ArgumentCheck[])[];
  readonly otherwise: "EPERM" | "ENOSYS" | "SIGSYS";
}

const EVERY_BIT = 0xffffffff;

/** The kernel reads numbers and flags from the lower half, or rejects an upper half that is not 0. */
function compareBits(argument: number, mask: number, ...values: readonly number[]): ArgumentCheck {
  return { argument, half: "lower", mask, values };
}

function compareValue(argument: number, ...values: readonly number[]): ArgumentCheck {
  return compareBits(argument, EVERY_BIT, ...values);
}

function allowBits(argument: number, bits: number): ArgumentCheck {
  return compareBits(argument, ~bits, 0);
}

function forbidBits(argument: number, bits: number): ArgumentCheck {
  return compareBits(argument, bits, 0);
}

function requireNull(argument: number): ArgumentCheck[] {
  return [compareValue(argument, 0), { argument, half: "upper", mask: EVERY_BIT, values: [0] }];
}

function allowIf(...alternatives: readonly (readonly ArgumentCheck[])[]): CallRule {
  return { allowedIf: alternatives, otherwise: "EPERM" };
}

/** The bits of O_RDONLY, O_WRONLY, O_RDWR, O_EXCL, O_NOCTTY, O_TRUNC, O_APPEND, O_NONBLOCK and O_CLOEXEC. */
const COMMON_OPEN_FLAGS = 0x3 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x80000;
/** O_DIRECTORY, O_NOFOLLOW, O_LARGEFILE and O_DIRECT: the same four bits on both processors, in a different order. */
const REORDERED_OPEN_FLAGS = 0x3c000;
const O_CREAT = 0x40;
const OPEN_FLAGS = COMMON_OPEN_FLAGS | REORDERED_OPEN_FLAGS;

/**
 * Without O_TMPFILE, whose files no listing of the output directory counts, and O_ASYNC, which sends signals. A new
 * file has no set-user-ID bit; without O_CREAT, the mode is whatever was in its register.
 */
function allowOpening(flagsArgument: number): CallRule {
  return allowIf(
    [allowBits(flagsArgument, OPEN_FLAGS)],
    [allowBits(flagsArgument, OPEN_FLAGS | O_CREAT), allowBits(flagsArgument + 1, 0o777)],
  );
}

const PROT_WRITE = 2;
const PROT_EXEC = 4;
/** Flags of mmap that pin memory, or take it from the huge pages that the host reserves for others. */
const MAP_LOCKED = 0x2000;
const MAP_HUGETLB = 0x40000;

/** FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME. */
const FUTEX_FLAGS = 0x180;

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/** With this flag clone(2) makes a thread, without it a process. */
const CLONE_THREAD = 0x00010000;
/**
 * The other flags of threads: VM, FS, FILES, SIGHAND, SYSVSEM, SETTLS, PARENT_SETTID, CHILD_CLEARTID of every libc,
 * DETACHED of musl. So there are no namespaces, no tracing and no descriptors of processes.
 */
const THREAD_FLAGS = 0x100 | 0x200 | 0x400 | 0x800 | 0x40000 | 0x80000 | 0x100000 | 0x200000 | 0x400000;

/**
 * The most frequent calls first: each rule adds 15 to 35 ns to a call that comes after it. Since
 * Linux 5.11, the kernel skips the filter for calls that are allowed with any arguments.
 */
const ARGUMENT_RULES = {
  // What locks and condition variables of glibc, musl and Rust use: WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAIT_BITSET,
  // WAKE_BITSET. Operations with inherited priority take the id of any process as the owner.
  futex: allowIf([compareBits(1, ~FUTEX_FLAGS, 9, 1, 0, 3, 4, 10)]),
  // Memory is writable or executable. The dynamic loader maps code from files; WebAssembly is interpreted.
  mmap: allowIf([
    compareBits(2, PROT_WRITE | PROT_EXEC, PROT_WRITE, 0, PROT_EXEC),
    forbidBits(3, MAP_LOCKED | MAP_HUGETLB),
  ]),
  mprotect: allowIf([forbidBits(2, PROT_EXEC)]),
  // NORMAL to WILLNEED, DONTNEED, FREE, HUGEPAGE, NOHUGEPAGE, DONTDUMP, GUARD_INSTALL, GUARD_REMOVE: what allocators
  // and stacks use. Not PAGEOUT, which evicts fonts that other renders read from memory, and not MERGEABLE, which
  // reveals whether another process has the same page.
  madvise: allowIf([compareValue(2, 4, 8, 14, 0, 1, 2, 3, 15, 16, 102, 103)]),
  // Not the clocks of other processes, whose numbers are negative.
  clock_gettime: allowIf([allowBits(0, 0xf)]),
  openat: allowOpening(2),
  // musl on x86-64, for which the official Typst is built, opens every file with it.
  open: allowOpening(1),
  // DUPFD, GETFD, SETFD, GETFL, DUPFD_CLOEXEC. SETOWN with SETSIG sends any signal to any process of the user, fired by
  // NOTIFY, by O_ASYNC or by SETLEASE. Leases and locks can also block other processes that open the file. Not SETFL:
  // standard error is shared with the shell and the programs that follow, whose writes would fail with O_NONBLOCK.
  fcntl: allowIf([compareValue(1, 0, 1, 2, 3, 1030)]),
  clone: allowIf([compareBits(0, ~THREAD_FLAGS, CLONE_THREAD)]),
  // clone3 passes its flags in memory, which filters cannot read. If it fails with ENOSYS, libc uses clone.
  clone3: { allowedIf: [], otherwise: "ENOSYS" },
  // Only for the calling thread. glibc passes its thread id to find the size of a stack, and copes with ENOSYS.
  sched_getaffinity: { allowedIf: [[compareValue(0, 0)]], otherwise: "ENOSYS" },
  // A process may read its own limits (process id 0), but neither change them nor read those of another.
  prlimit64: allowIf([compareValue(0, 0), ...requireNull(2)]),
  // SET_NAME for threads. For setpriv: SET_KEEPCAPS, CAPBSET_READ, CAPBSET_DROP, SET_NO_NEW_PRIVS, CAP_AMBIENT, and the
  // signal at the parent's end, which can only be set to SIGKILL.
  prctl: allowIf(
    [compareValue(0, 15, 8, 23, 24, 38, 47)],
    [compareValue(0, PR_SET_PDEATHSIG), compareValue(1, SIGKILL)],
  ),
  // SET_FS for the storage of threads; SHSTK_ENABLE, SHSTK_LOCK and SHSTK_STATUS for shadow stacks, which protect.
  arch_prctl: allowIf([compareValue(0, 0x1002, 0x5001, 0x5003, 0x5005)]),
  // REALTIME and MONOTONIC.
  clock_nanosleep: allowIf([compareValue(0, 0, 1)]),
  // QUERY, PRIVATE_EXPEDITED and its registration, for musl. Other commands interrupt processors that run other
  // processes.
  membarrier: allowIf([compareValue(0, 0, 8, 16)]),
  // For setpriv, without flags, which would keep denials out of the audit log. Only rules for files, because rules for
  // ports take kernel memory that no limit counts.
  landlock_create_ruleset: allowIf([compareValue(2, 0, 1)]),
  landlock_add_rule: allowIf([compareValue(1, 1), compareValue(3, 0)]),
  landlock_restrict_self: allowIf([compareValue(1, 0)]),
  // abort(3) sends SIGABRT to its own thread. The filter cannot distinguish that from a signal to another process of
  // the user, which Landlock does not prevent. SIGSYS ends the caller instead.
  tkill: { allowedIf: [], otherwise: "SIGSYS" },
  tgkill: { allowedIf: [], otherwise: "SIGSYS" },
} as const satisfies Readonly<Record<string, CallRule>>;

/** Each affects only the process itself, its memory, or files that the sandbox lets it open. */
const ALLOWED_CALLS = [
  // The streams, and files that the sandbox let it open.
  ["read", "write", "close", "readv", "writev", "pread64", "lseek", "poll", "ppoll"],
  // Looking at files and directories. Under Landlock, this reveals whether a path exists.
  ["stat", "fstat", "lstat", "newfstatat", "statx", "getdents64"],
  ["access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd"],
  // Its own memory, within the limit on address space.
  ["brk", "munmap", "mremap"],
  // Its own threads.
  ["gettid", "getpid", "set_tid_address", "set_robust_list", "rseq"],
  ["sched_yield", "nanosleep", "restart_syscall", "exit", "exit_group"],
  // Its own handling of signals. A process that ignores SIGXCPU is killed a second later.
  ["rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack"],
  // Facts about this machine: the kernel's release, the size of its memory, its own limits, random numbers.
  ["uname", "sysinfo", "getrlimit", "getrandom"],
  // bubblewrap waits for Typst, which itself has no children.
  ["wait4"],
  // The sandbox starts Typst with it. Any other program would run under the same filter, limits and rules for files.
  ["execve"],
  // setpriv drops its capabilities. No process can gain any.
  ["capget", "capset"],
] as const;

export type SystemCall = keyof typeof ARGUMENT_RULES | (typeof ALLOWED_CALLS)[number][number];

/** The rule of each call, in the order in which the filter tries them. */
export const SYSTEM_CALL_RULES: readonly (readonly [call: string, rule: CallRule])[] = [
  ...Object.entries<CallRule>(ARGUMENT_RULES),
  ...ALLOWED_CALLS.flat().map((call) => [call, allowIf([])] as const),
];
