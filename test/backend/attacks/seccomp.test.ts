/**
 * The filter of system calls, run as the kernel runs it: by an interpreter of classic BPF, over calls of each processor.
 */
import { describe, expect, it } from "vitest";
import { seccompFilter } from "../../../backend/sandbox/seccomp.ts";

/** What the kernel tells a filter of a call: struct seccomp_data. */
interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly argument?: number;
}

const ALLOW = "allow";
const KILL = "kill the process";
const EPERM = "errno 1";
const ENOSYS = "errno 38";

/** Runs the filter. Throws for what the kernel would not have loaded. */
function judge(filter: Buffer, { architecture, number, argument = 0 }: Call): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  data.writeBigUInt64LE(BigInt(argument), 16);
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
    allowed: { read: 0, write: 1, mmap: 9, munmap: 11, brk: 12, execve: 59, futex: 202, exit_group: 231, openat: 257 },
    refused: {
      ...{ open: 2, dup2: 33, socket: 41, connect: 42, sendto: 44, bind: 49, socketpair: 53, fork: 57, vfork: 58 },
      ...{ kill: 62, rename: 82, mkdir: 83, unlink: 87, symlink: 88, chmod: 90, chown: 92, ptrace: 101, setuid: 105 },
      ...{ personality: 135, pivot_root: 155, setrlimit: 160, chroot: 161, mount: 165, reboot: 169, init_module: 175 },
      ...{ tkill: 200, kexec_load: 246, add_key: 248, keyctl: 250, mknodat: 259, linkat: 265, symlinkat: 266 },
      ...{ unshare: 272, perf_event_open: 298, open_by_handle_at: 304, setns: 308, process_vm_readv: 310 },
      ...{ process_vm_writev: 311, finit_module: 313, memfd_create: 319, bpf: 321, execveat: 322, userfaultfd: 323 },
      ...{ pidfd_send_signal: 424, io_uring_setup: 425, io_uring_enter: 426, open_tree: 428, move_mount: 429 },
      ...{ fsopen: 430, pidfd_open: 434, pidfd_getfd: 438, mount_setattr: 442, beyond: 100_000 },
    },
  },
  arm64: {
    architecture: 0xc00000b7,
    clone: 220,
    allowed: {
      openat: 56,
      read: 63,
      write: 64,
      exit_group: 94,
      futex: 98,
      brk: 214,
      munmap: 215,
      execve: 221,
      mmap: 222,
    },
    refused: {
      ...{ mknodat: 33, mkdirat: 34, unlinkat: 35, symlinkat: 36, linkat: 37, mount: 40, pivot_root: 41, chroot: 51 },
      ...{ fchmodat: 53, fchownat: 54, personality: 92, unshare: 97, kexec_load: 104, init_module: 105, ptrace: 117 },
      ...{ kill: 129, tkill: 130, reboot: 142, setuid: 146, setrlimit: 164, socket: 198, socketpair: 199, bind: 200 },
      ...{ connect: 203, sendto: 206, add_key: 217, keyctl: 219, perf_event_open: 241, open_by_handle_at: 265 },
      ...{ setns: 268, process_vm_readv: 270, process_vm_writev: 271, finit_module: 273, memfd_create: 279, bpf: 280 },
      ...{ execveat: 281, userfaultfd: 282, pidfd_send_signal: 424, io_uring_setup: 425, io_uring_enter: 426 },
      ...{ open_tree: 428, move_mount: 429, fsopen: 430, pidfd_open: 434, pidfd_getfd: 438, mount_setattr: 442 },
    },
  },
} as const;

function filterOf(processor: string): Buffer {
  const filter = seccompFilter(processor);
  if (filter === null) throw new Error(`there is no filter for ${processor}`);
  return filter;
}

describe.each(Object.entries(PROCESSORS))("the filter of system calls for %s", (processor, calls) => {
  const { architecture, clone, allowed, refused } = calls;
  const filter = filterOf(processor);
  const judgeNumber = (number: number, argument = 0) => judge(filter, { architecture, number, argument });

  it.each(Object.entries(allowed))("allows %s", (_name, number) => {
    expect(judgeNumber(number)).toBe(ALLOW);
  });

  it.each(Object.entries(refused))("refuses %s", (_name, number) => {
    expect(judgeNumber(number)).toBe(EPERM);
  });

  it("allows threads, and no processes", () => {
    expect(judgeNumber(clone, THREAD)).toBe(ALLOW);
    expect(judgeNumber(clone, SIGCHLD)).toBe(EPERM);
    expect(judgeNumber(clone, 0)).toBe(EPERM);
    expect(judgeNumber(clone, NEW_USER_NAMESPACE | SIGCHLD)).toBe(EPERM);
  });

  it("says of clone3 that there is none, so that libc uses clone", () => {
    expect(judgeNumber(435, THREAD)).toBe(ENOSYS);
  });

  it("kills whoever makes a call of another processor", () => {
    const others = [0x40000003, 0xc000003e, 0xc00000b7, 0x40000028, 0, 0xffffffff].filter(
      (one) => one !== architecture,
    );
    for (const other of others) expect(judge(filter, { architecture: other, number: 0 })).toBe(KILL);
  });

  it("kills whoever makes a call of the x32 table", () => {
    for (const number of [0x40000000, 0x40000000 + 41, 0x40000209, 0xffffffff]) expect(judgeNumber(number)).toBe(KILL);
  });

  it("has a verdict on every number, and allows only what is on its list", () => {
    const permitted: number[] = [];
    for (let number = 0; number < 1024; number++) if (judgeNumber(number) === ALLOW) permitted.push(number);
    expect(permitted.length).toBeLessThan(80);
    expect(permitted).toEqual(expect.arrayContaining(Object.values(allowed)));
  });

  it("is a program that the kernel loads", () => {
    expect(filter.length % 8).toBe(0);
    expect(filter.length / 8).toBeLessThanOrEqual(4096);
  });
});

it("there is no filter for a processor whose calls are not known", () => {
  expect(seccompFilter("riscv64")).toBeNull();
});
