/**
 * The system calls that the sandboxes allow, call by call and argument by argument, written down a second time: numbers
 * from the kernel's own tables, and for each call with a rule on its arguments what must work and what must not. Why
 * each rule is there, `backend/sandbox/system-calls.ts` says.
 *
 * `sandbox/seccomp.test.ts` runs the filters of all processors on them; `attacks/system-calls.test.ts` makes the calls.
 */

/** Numbers of the calls that are allowed whatever their arguments are, of those with rules, and of some others. */
export const PROCESSORS = {
  x64: {
    architecture: 0xc000003e,
    allowed: {
      ...{ read: 0, write: 1, close: 3, stat: 4, fstat: 5, lstat: 6, poll: 7, lseek: 8, munmap: 11, brk: 12 },
      ...{ rt_sigaction: 13, rt_sigprocmask: 14, rt_sigreturn: 15, pread64: 17, readv: 19, writev: 20, access: 21 },
      ...{ sched_yield: 24, mremap: 25, nanosleep: 35, getpid: 39, execve: 59, exit: 60, wait4: 61, uname: 63 },
      ...{ getcwd: 79, readlink: 89, getrlimit: 97, sysinfo: 99, capget: 125, capset: 126, sigaltstack: 131 },
      ...{ gettid: 186, getdents64: 217, set_tid_address: 218, restart_syscall: 219, exit_group: 231 },
      ...{ newfstatat: 262, readlinkat: 267, ppoll: 271, set_robust_list: 273, getrandom: 318, statx: 332, rseq: 334 },
      ...{ faccessat2: 439 },
    },
    limited: {
      ...{ open: 2, mmap: 9, mprotect: 10, madvise: 28, clone: 56, fcntl: 72, prctl: 157, arch_prctl: 158 },
      ...{ futex: 202, sched_getaffinity: 204, clock_gettime: 228, clock_nanosleep: 230, openat: 257, prlimit64: 302 },
      ...{ membarrier: 324, clone3: 435, landlock_create_ruleset: 444, landlock_add_rule: 445 },
      ...{ landlock_restrict_self: 446 },
    },
    deadly: { tkill: 200, tgkill: 234 },
    refused: { ioctl: 16, shmget: 29, socket: 41, socketpair: 53, semget: 64, msgget: 68 },
  },
  arm64: {
    architecture: 0xc00000b7,
    allowed: {
      ...{ getcwd: 17, faccessat: 48, close: 57, getdents64: 61, lseek: 62, read: 63, write: 64, readv: 65 },
      ...{ writev: 66 },
      ...{ pread64: 67, ppoll: 73, readlinkat: 78, newfstatat: 79, fstat: 80, capget: 90, capset: 91, exit: 93 },
      ...{ exit_group: 94, set_tid_address: 96, set_robust_list: 99, nanosleep: 101, sched_yield: 124 },
      ...{ restart_syscall: 128, sigaltstack: 132, rt_sigaction: 134, rt_sigprocmask: 135, rt_sigreturn: 139 },
      ...{ uname: 160, getpid: 172, gettid: 178, sysinfo: 179, brk: 214, munmap: 215, mremap: 216, execve: 221 },
      ...{ wait4: 260, getrandom: 278, statx: 291, rseq: 293, faccessat2: 439 },
    },
    limited: {
      ...{ fcntl: 25, openat: 56, futex: 98, clock_gettime: 113, clock_nanosleep: 115, sched_getaffinity: 123 },
      ...{ prctl: 167, clone: 220, mmap: 222, mprotect: 226, madvise: 233, prlimit64: 261, membarrier: 283 },
      ...{ clone3: 435, landlock_create_ruleset: 444, landlock_add_rule: 445, landlock_restrict_self: 446 },
    },
    deadly: { tkill: 130, tgkill: 131 },
    refused: { ioctl: 29, msgget: 186, semget: 190, shmget: 194, socket: 198, socketpair: 199 },
  },
} as const;

export type LimitedCall = keyof (typeof PROCESSORS)["x64"]["limited"];
export type RefusedCall = keyof (typeof PROCESSORS)["x64"]["refused"];

/**
 * One call: what it does, then its arguments. Text is an expression of Perl, for what is known only where the call is
 * made: pointers, and the variables of `ATTEMPT_VARIABLES`.
 */
export type Attempt = readonly [what: string, ...callArguments: (number | string)[]];

export interface LimitedCallAttempts {
  readonly call: LimitedCall;
  readonly allowed: readonly Attempt[];
  readonly refused: readonly Attempt[];
  /** How it is refused: EPERM if nothing is said. */
  readonly errno?: number;
}

export interface RefusedCallAttempt {
  readonly call: RefusedCall;
  /** It changes nothing where nothing forbids it. */
  readonly attempt: Attempt;
}

/**
 * Perl that makes what the attempts use: buffers, a page of memory, paths. Takes `%number` and `$output`, a directory.
 */
export const ATTEMPT_VARIABLES = `
  our ($here, $new, $suid, $word, $buffer) = (".", "$output/new", "$output/suid", pack("L", 0), "\\0" x 256);
  our ($moment, $limit, $name) = (pack("QQ", 0, 1), pack("QQ", 0, 0), "name");
  our $page = syscall($number{mmap}, 0, 4096, 3, 0x22, -1, 0);
  syscall($number{prctl}, 38, 1, 0, 0, 0);`;

const PRIVATE = 128;
const CURRENT_DIRECTORY = -100;
const O_DIRECTORY = process.arch === "arm64" ? 0x4000 : 0x10000;
const O_TMPFILE = 0x400000 | O_DIRECTORY;
/** The clock of the processor time of process 1: its complement, three bits to the left, and the kind. */
const CLOCK_OF_PROCESS_1 = -14;
const CLONE_THREAD = 0x10000;
/** Alone, it makes the kernel refuse the call as invalid: no process comes into being, with a filter or without. */
const CLONE_SIGHAND = 0x800;

/** A key of System V that nobody has. */
const NO_KEY = 0x5479_7374;

/**
 * Calls that are refused whatever their arguments are, of those that reach other processes. (Not sethostname: without
 * capabilities, the kernel refuses it with the same error as the filter.)
 */
export const REFUSED_CALLS: readonly RefusedCallAttempt[] = [
  { call: "shmget", attempt: ["finds shared memory", NO_KEY, 4096, 0] },
  { call: "semget", attempt: ["finds semaphores", NO_KEY, 1, 0] },
  { call: "msgget", attempt: ["finds a queue of messages", NO_KEY, 0] },
  // FIOASYNC.
  { call: "ioctl", attempt: ["gets signals about its streams", 0, 0x5452, 'pack("l", 1)'] },
];

const OPENING = {
  allowed: [
    ["opens a directory", "$here", 0],
    ["lists a directory", "$here", 0x80800 | O_DIRECTORY],
    ["makes a file", "$new", 0x241, 0o666],
  ],
  refused: [
    ["makes a file without a name", "$output", O_TMPFILE | 1, 0o600],
    ["arms signals", "$here", 0x2000],
    ["hides that a file is read", "$here", 0x40000],
    ["finds a file that it may not open", "$here", 0x200000],
    ["makes a set-user-ID file", "$suid", 0x241, 0o4777],
  ],
} as const;

export const LIMITED_CALLS: readonly LimitedCallAttempts[] = [
  {
    call: "futex",
    allowed: [
      ["wakes a thread", "$word", 1],
      ["wakes a thread of its process", "$word", 1 | PRIVATE],
      ["waits, but not for this value", "$word", 0 | PRIVATE, 1, 0],
      ["waits with a bit set, but not for this value", "$word", 9 | PRIVATE, 1, 0, 0, -1],
      ["waits by the clock, but not for this value", "$word", 9 | 256, 1, 0, 0, -1],
      ["moves waiting threads", "$word", 3 | PRIVATE, 1, 1, "$buffer"],
    ],
    refused: [
      ["locks with inherited priority", "$word", 6, 0, 0],
      ["tries to lock with inherited priority", "$word", 8, 0, 0],
      ["wakes by an operation", "$word", 5, 1, 1, "$buffer", 0],
      ["waits with inherited priority", "$word", 11, 1, 0, "$buffer", 0],
    ],
  },
  {
    call: "mmap",
    allowed: [
      ["takes memory", 0, 4096, 3, 0x22, -1, 0],
      ["maps code", 0, 4096, 5, 0x22, -1, 0],
      ["keeps an address", 0, 4096, 0, 0x4022, -1, 0],
    ],
    refused: [
      ["takes memory to write code into", 0, 4096, 7, 0x22, -1, 0],
      ["takes memory to write code into, which cannot be read", 0, 4096, 6, 0x22, -1, 0],
      ["locks memory", 0, 4096, 3, 0x2022, -1, 0],
      ["takes a huge page of the host's stock", 0, 2 ** 21, 3, 0x40022, -1, 0],
    ],
  },
  {
    call: "mprotect",
    allowed: [
      ["protects memory", "$page", 4096, 1],
      ["makes it writable", "$page", 4096, 3],
    ],
    refused: [
      ["makes data executable", "$page", 4096, 5],
      ["makes it writable and executable", "$page", 4096, 7],
    ],
  },
  {
    call: "madvise",
    allowed: [
      ["gives pages back", "$page", 4096, 4],
      ["gives pages back when needed", "$page", 4096, 8],
      ["wants huge pages", "$page", 4096, 14],
      ["guards a stack", "$page", 4096, 102],
    ],
    refused: [
      ["puts pages out of memory", "$page", 4096, 21],
      ["makes pages the first to go", "$page", 4096, 20],
      ["shares equal pages with other processes", "$page", 4096, 12],
      ["frees parts of a shared file", "$page", 4096, 9],
    ],
  },
  {
    call: "clock_gettime",
    allowed: [
      ["reads the time", 0, "$buffer"],
      ["reads a steady clock", 1, "$buffer"],
      ["reads its own processor time", 2, "$buffer"],
    ],
    refused: [["reads the processor time of another process", CLOCK_OF_PROCESS_1, "$buffer"]],
  },
  {
    call: "openat",
    allowed: OPENING.allowed.map(([what, ...rest]): Attempt => [what, CURRENT_DIRECTORY, ...rest]),
    refused: OPENING.refused.map(([what, ...rest]): Attempt => [what, CURRENT_DIRECTORY, ...rest]),
  },
  { call: "open", ...OPENING },
  {
    call: "fcntl",
    allowed: [
      ["copies a descriptor", 0, 0, 10],
      ["reads the flags of a descriptor", 0, 1],
      ["sets the flags of a descriptor", 0, 2, 1],
      ["reads the flags of a file", 0, 3],
      ["copies a descriptor that exec closes", 0, 1030, 10],
    ],
    refused: [
      ["sets the flags of a file that it shares with others", 2, 4, 0x802],
      ["arms signals by the flags of a file", 0, 4, 0x2002],
      ["hides that a file is read", 0, 4, 0x40002],
      ["looks for a lock", 0, 5, "$buffer"],
      ["locks a file", 0, 6, "$buffer"],
      ["locks an open file", 0, 37, "$buffer"],
      // Nobody: without a filter, the signals that are armed here would end the program.
      ["names a process for signals", 0, 8, 0],
      ["names a thread for signals", 0, 15, 'pack("ll", 1, 0)'],
      ["asks who gets signals", 0, 9],
      ["chooses the signal", 0, 10, 9],
      ["asks for the signal", 0, 11],
      ["holds up others who open a file", 0, 1024, 0],
      ["is told when others open a file", 0, 1025],
      ["is told of changes in a directory", 0, 1026, 4],
      ["takes memory for a pipe", 0, 1031, 2 ** 20],
      ["asks how memory is sealed", 0, 1034],
    ],
  },
  {
    call: "clone",
    // Neither comes into being, for want of other flags: what matters here is who says so.
    allowed: [["starts a thread", CLONE_THREAD]],
    refused: [
      ["starts a process", CLONE_SIGHAND | 17],
      ["starts a process that is traced", CLONE_SIGHAND | 0x2000],
      ["starts a thread with a descriptor", CLONE_THREAD | 0x1000],
      ["starts a thread of its parent", CLONE_THREAD | 0x8000],
    ],
  },
  {
    call: "clone3",
    allowed: [],
    refused: [["starts anything", "$buffer", 0]],
    errno: 38,
  },
  {
    call: "sched_getaffinity",
    allowed: [["counts its processors", 0, 128, "$buffer"]],
    refused: [["looks for another process", 1, 128, "$buffer"]],
    errno: 38,
  },
  {
    call: "prlimit64",
    allowed: [["reads a limit", 0, 9, 0, "$buffer"]],
    refused: [
      ["reads a limit by an id", "$$", 9, 0, "$buffer"],
      ["sets a limit", 0, 4, "$limit", 0],
    ],
  },
  {
    call: "prctl",
    allowed: [
      ["names its thread", 15, "$name"],
      ["ends with its parent", 1, 9],
      ["gains no privileges", 38, 1, 0, 0, 0],
      ["reads the bounding set", 23, 0],
    ],
    refused: [
      ["survives its parent", 1, 0],
      ["takes another signal at its parent's end", 1, 15],
      ["asks whether it can be traced", 3],
      ["lets itself be traced", 4, 1],
      ["adopts processes", 36, 1],
      ["chooses when it is woken", 29, 1],
      ["filters its calls", 22, 2, 0],
      ["shares a core by a process id", 62, 0, 1, 0, "$buffer"],
    ],
  },
  {
    call: "arch_prctl",
    allowed: [["asks for its shadow stack", 0x5005, "$buffer"]],
    refused: [
      ["reads a register", 0x1003, "$buffer"],
      ["asks whether CPUID traps", 0x1011, 0],
      ["takes its shadow stack away", 0x5002, 1],
    ],
  },
  {
    call: "clock_nanosleep",
    allowed: [
      ["sleeps", 0, 0, "$moment", 0],
      ["sleeps by a steady clock", 1, 0, "$moment", 0],
    ],
    refused: [
      ["sleeps by atomic time", 11, 0, "$moment", 0],
      ["sleeps by the processor time of another process", CLOCK_OF_PROCESS_1, 0, "$moment", 0],
    ],
  },
  {
    call: "membarrier",
    allowed: [
      ["asks what there is", 0, 0, 0],
      ["prepares barriers of its own threads", 16, 0, 0],
      ["sets a barrier for its own threads", 8, 0, 0],
    ],
    refused: [
      ["sets a barrier for all processes", 1, 0, 0],
      ["interrupts other processes", 2, 0, 0],
      ["wants to be interrupted by others", 4, 0, 0],
    ],
  },
  {
    call: "landlock_create_ruleset",
    allowed: [["asks for the version", 0, 0, 1]],
    refused: [["asks by another flag", 0, 0, 2]],
  },
  {
    call: "landlock_add_rule",
    allowed: [["adds a rule for files", -1, 1, "$buffer", 0]],
    refused: [
      ["adds a rule for ports", -1, 2, "$buffer", 0],
      ["adds a rule with a flag", -1, 1, "$buffer", 1],
    ],
  },
  {
    call: "landlock_restrict_self",
    allowed: [["restricts itself", -1, 0]],
    refused: [
      ["hides its denials", -1, 1],
      ["restricts all its threads", -1, 8],
    ],
  },
];
