/** The rules on system calls as a seccomp filter in the kernel's own form, classic BPF. */
import { writeFile } from "node:fs/promises";
import { SettingError } from "../../rules/settings.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { type ArgumentCheck, type CallRule, SYSTEM_CALL_RULES, type SystemCall } from "./system-calls.ts";

/** AUDIT_ARCH_* of <linux/audit.h>, and the numbers of the calls that exist on the processor. */
interface Architecture {
  readonly audit: number;
  readonly numbers: Readonly<Partial<Record<SystemCall, number>>>;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    // biome-ignore format: a table.
    numbers: {
      read: 0, write: 1, open: 2, close: 3, stat: 4, fstat: 5, lstat: 6, poll: 7, lseek: 8, mmap: 9, mprotect: 10,
      munmap: 11, brk: 12, rt_sigaction: 13, rt_sigprocmask: 14, rt_sigreturn: 15, pread64: 17, readv: 19, writev: 20,
      access: 21, sched_yield: 24, mremap: 25, madvise: 28, nanosleep: 35, getpid: 39, clone: 56, execve: 59,
      exit: 60, wait4: 61, uname: 63, fcntl: 72, getcwd: 79, readlink: 89, getrlimit: 97, sysinfo: 99, capget: 125,
      capset: 126, sigaltstack: 131, prctl: 157, arch_prctl: 158, gettid: 186, tkill: 200, futex: 202,
      sched_getaffinity: 204, getdents64: 217, set_tid_address: 218, restart_syscall: 219, clock_gettime: 228,
      clock_nanosleep: 230, exit_group: 231, tgkill: 234, openat: 257, newfstatat: 262, readlinkat: 267, ppoll: 271,
      set_robust_list: 273, prlimit64: 302, getrandom: 318, membarrier: 324, statx: 332, rseq: 334, clone3: 435,
      faccessat2: 439, landlock_create_ruleset: 444, landlock_add_rule: 445, landlock_restrict_self: 446,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    // biome-ignore format: a table.
    numbers: {
      getcwd: 17, fcntl: 25, faccessat: 48, openat: 56, close: 57, getdents64: 61, lseek: 62, read: 63, write: 64,
      readv: 65, writev: 66, pread64: 67, ppoll: 73, readlinkat: 78, newfstatat: 79, fstat: 80, capget: 90,
      capset: 91, exit: 93, exit_group: 94, set_tid_address: 96, futex: 98, set_robust_list: 99, nanosleep: 101,
      clock_gettime: 113, clock_nanosleep: 115, sched_getaffinity: 123, sched_yield: 124, restart_syscall: 128,
      tkill: 130, tgkill: 131, sigaltstack: 132, rt_sigaction: 134, rt_sigprocmask: 135, rt_sigreturn: 139,
      uname: 160, prctl: 167, getpid: 172, gettid: 178, sysinfo: 179, brk: 214, munmap: 215, mremap: 216, clone: 220,
      execve: 221, mmap: 222, mprotect: 226, madvise: 233, wait4: 260, prlimit64: 261, getrandom: 278,
      membarrier: 283, statx: 291, rseq: 293, clone3: 435, faccessat2: 439, landlock_create_ruleset: 444,
      landlock_add_rule: 445, landlock_restrict_self: 446,
    },
  },
};

const NUMBER_OFFSET = 0;
const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;
const ARGUMENT_BYTES = 8;
/** Filters are written little-endian, as both supported processors read them. */
const HALF_OFFSETS = { lower: 0, upper: 4 } as const;

/** Instruction codes of <linux/bpf_common.h>. */
const LOAD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;

/** Return actions of <linux/seccomp.h>, and error numbers. */
const KILL_PROCESS = 0x80000000;
const ALLOW = 0x7fff0000;
const ACTIONS = { EPERM: 0x00050000 | 1, ENOSYS: 0x00050000 | 38, SIGSYS: 0x00030000 } as const;

/** Marks a call of the x32 ABI, a second system call table. */
const X32_BIT = 0x40000000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/** @returns the bytes of the BPF program; null for a processor whose system calls are not listed here. */
export function seccompFilter(architectureName: string): Buffer | null {
  const architecture = ARCHITECTURES[architectureName];
  if (architecture === undefined) return null;
  const { audit, numbers } = architecture;
  const numberOf: Readonly<Record<string, number | undefined>> = numbers;
  return assemble([
    [LOAD, 0, 0, ARCHITECTURE_OFFSET],
    [JUMP_IF_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_OFFSET],
    [JUMP_IF_AT_LEAST, 0, 1, X32_BIT],
    [RETURN, 0, 0, KILL_PROCESS],
    ...SYSTEM_CALL_RULES.flatMap(([call, rule]) => {
      const number = numberOf[call];
      return number === undefined ? [] : assembleRule(number, rule);
    }),
    [RETURN, 0, 0, ACTIONS.EPERM],
  ]);
}

/** Decides about one call. Any other call continues after these instructions. */
function assembleRule(number: number, { allowedIf, otherwise }: CallRule): Instruction[] {
  const verdict: Instruction[] = [...allowedIf.flatMap(assembleChecks), [RETURN, 0, 0, ACTIONS[otherwise]]];
  return [[JUMP_IF_EQUAL, 0, verdict.length, number], ...verdict];
}

/** Allows the call if all checks hold. */
function assembleChecks([check, ...others]: readonly ArgumentCheck[]): Instruction[] {
  if (check === undefined) return [[RETURN, 0, 0, ALLOW]];
  const next = assembleChecks(others);
  return [...assembleCheck(check, next.length), ...next];
}

/** Continues with the next instruction if the check holds, and otherwise skips `skipped` instructions. */
function assembleCheck({ argument, half, mask, values }: ArgumentCheck, skipped: number): Instruction[] {
  const others = values.length - 1;
  return [
    [LOAD, 0, 0, ARGUMENTS_OFFSET + argument * ARGUMENT_BYTES + HALF_OFFSETS[half]],
    [AND, 0, 0, mask],
    ...values.map((value, index): Instruction => {
      const left = others - index;
      return [JUMP_IF_EQUAL, left, left === 0 ? skipped : 0, value];
    }),
  ];
}

function assemble(instructions: readonly Instruction[]): Buffer {
  const INSTRUCTION_BYTES = 8;
  const program = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  let offset = 0;
  for (const [code, ifTrue, ifFalse, operand] of instructions) {
    offset = program.writeUInt16LE(code, offset);
    // Throws if the length of a jump does not fit its byte.
    offset = program.writeUInt8(ifTrue, offset);
    offset = program.writeUInt8(ifFalse, offset);
    offset = program.writeUInt32LE(operand >>> 0, offset);
  }
  return program;
}

/** @throws SettingError if no filter is known for the processor. */
export async function writeSeccompFilter({ workDirectory }: BackendSettings): Promise<string> {
  const filter = seccompFilter(process.arch);
  if (filter === null) throw new SettingError(`No system call filter is known for ${process.arch}.`);
  const path = workDirectoryPath(workDirectory, "seccompFilter");
  await writeFile(path, filter);
  return path;
}
