/** The seccomp filter, run as the kernel runs it. */
import { describe, expect, it } from "vitest";
import { seccompFilter } from "../../../backend/sandbox/seccomp.ts";
import { type Attempt, LIMITED_CALLS, PROCESSORS } from "../../support/backend/system-calls.ts";

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
      case 0x35:
        position += jump(accumulator >= operand);
        break;
      case 0x54:
        accumulator = (accumulator & operand) >>> 0;
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

const VERDICTS = new Map([
  [0x7fff0000, ALLOW],
  [0x80000000, KILL],
  [0x00030000, TRAP],
]);

function verdict(value: number): string {
  const action = (value & 0xffff0000) >>> 0;
  return VERDICTS.get(action) ?? (action === 0x00050000 ? `errno ${value & 0xffff}` : `unknown verdict ${value}`);
}

/** Possible arguments of a call, from no bit to every bit. */
const SOME_ARGUMENTS: readonly (readonly bigint[])[] = [
  [],
  [1n, 2n, 3n, 4n, 5n, 6n],
  [0n, 0x8912n],
  [0x3d0f00n, 0x3d0f00n],
  Array(6).fill(0xffff_ffff_ffff_ffffn),
];

/** Any pointer. */
const POINTER = 0x7f12_3456_7000n;

describe.each(Object.entries(PROCESSORS))("the seccomp filter for %s", (processor, calls) => {
  const { architecture, allowed, limited, deadly } = calls;
  const filter = seccompFilter(processor) ?? Buffer.alloc(0);
  const validateNumber = (number: number, ...values: readonly bigint[]) =>
    validate(filter, { architecture, number, arguments: values.map((value) => BigInt.asUintN(64, value)) });
  const validateAttempt = (number: number, [, ...values]: Attempt) =>
    validateNumber(number, ...values.map((value) => (typeof value === "number" ? BigInt(value) : POINTER)));
  /** The verdicts on a call whatever its arguments are. */
  const verdicts = (number: number) => new Set(SOME_ARGUMENTS.map((values) => validateNumber(number, ...values)));

  it("allows or ends the calls on its lists, whatever their arguments are, and refuses all others", () => {
    const listed = new Map<number, string>();
    for (const number of Object.values(allowed)) listed.set(number, ALLOW);
    for (const number of Object.values(deadly)) listed.set(number, TRAP);
    const conditional = new Set<number>(Object.values(limited));
    for (const number of [...Array(2048).keys(), 100_000]) {
      if (conditional.has(number)) continue;
      expect(verdicts(number), `call ${number}`).toEqual(new Set([listed.get(number) ?? EPERM]));
    }
  });

  it("judges the others by their arguments", () => {
    for (const [call, number] of Object.entries(limited)) {
      const known = LIMITED_CALLS.find((one) => one.call === call);
      if (known === undefined) throw new Error(`nothing is known about ${call}`);
      const { allowed, refused, errno = 1 } = known;
      const judge = (attempt: Attempt) => `${call} ${attempt[0]}: ${validateAttempt(number, attempt)}`;
      expect(allowed.map(judge)).toEqual(allowed.map(([what]) => `${call} ${what}: ${ALLOW}`));
      expect(refused.map(judge)).toEqual(refused.map(([what]) => `${call} ${what}: errno ${errno}`));
    }
  });

  it("allows the threads of glibc and of musl", () => {
    // CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID, CHILD_CLEARTID; musl adds DETACHED.
    for (const flags of [0x3d0f00n, 0x7d0f00n]) expect(validateNumber(limited.clone, flags)).toBe(ALLOW);
    const NEW_USER_NAMESPACE = 0x10000000n;
    expect(validateNumber(limited.clone, 0x3d0f00n | NEW_USER_NAMESPACE)).toBe(EPERM);
    // Only the first argument contains the flags.
    expect(validateNumber(limited.clone, 17n, 0x3d0f00n, 0x3d0f00n, 0x3d0f00n)).toBe(EPERM);
  });

  it("sees both halves of a pointer", () => {
    for (const pointer of [1n, 1n << 32n, POINTER])
      expect(validateNumber(limited.prlimit64, 0n, 4n, pointer)).toBe(EPERM);
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

  it("can be loaded by the kernel", () => {
    expect(filter.length % 8).toBe(0);
    expect(filter.length).toBeGreaterThan(0);
    expect(filter.length / 8).toBeLessThanOrEqual(4096);
  });
});

it("there is no filter for an unknown architecture", () => {
  expect(seccompFilter("riscv64")).toBeNull();
});
