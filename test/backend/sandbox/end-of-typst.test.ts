/** How each sandbox reads the end of the program that it has named: as an end of Typst's, or as its own failure. */
import { describe, expect, it } from "vitest";
import type { ProgramEnd } from "../../../backend/launcher/program.ts";
import { endOfTypst, type SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { openTestSandbox } from "../../support/backend/test-sandbox.ts";

const exited = (exitCode: number, diagnostics = ""): ProgramEnd => ({ kind: "exited", exitCode, diagnostics });
const signalled = (signal: string): ProgramEnd => ({ kind: "signalled", signal, diagnostics: "" });
const sandboxFailed = (reason: string) => ({ kind: "failed", reason });

const NOT_FOUND: ProgramEnd = { kind: "failed", reason: "not found" };
const TYPST_ERROR = "error: bwrap: setpriv: prlimit: as a template may write";

const ENDS: [SandboxMode, string, ProgramEnd, object][] = [
  ...(["bubblewrap", "landlock"] as const).flatMap((mode): [SandboxMode, string, ProgramEnd, object][] => [
    [mode, "a success", exited(0), { kind: "exited", exitCode: 0 }],
    [mode, "an error of Typst", exited(1, TYPST_ERROR), { kind: "exited", exitCode: 1 }],
    [mode, "a signal", signalled("SIGXCPU"), { kind: "signalled", signal: "SIGXCPU" }],
    [mode, "a complaint of prlimit", exited(1, "prlimit: failed"), sandboxFailed("exit code 1")],
    [mode, "a program that cannot be run", exited(126), sandboxFailed("exit code 126")],
    [mode, "a library that is missing", exited(127), sandboxFailed("exit code 127")],
    [mode, "no start", NOT_FOUND, sandboxFailed("not found")],
  ]),
  ["bubblewrap", "its own complaint", exited(1, "bwrap: Can't mkdir"), sandboxFailed("exit code 1")],
  ["landlock", "its own complaint", exited(1, "setpriv: landlock"), sandboxFailed("exit code 1")],
  ["none", "a success", exited(0), { kind: "exited", exitCode: 0 }],
  ["none", "a signal", signalled("SIGSEGV"), { kind: "signalled", signal: "SIGSEGV" }],
  ["none", "an error message that begins with bwrap", exited(1, "bwrap: x"), { kind: "exited", exitCode: 1 }],
  ["none", "a library that is missing", exited(127), sandboxFailed("exit code 127")],
];

describe("the end of a program", () => {
  it.each(ENDS)("under %s: %s", async (mode, _what, end, expected) => {
    const { sandbox } = await openTestSandbox(mode);
    expect(endOfTypst(end, sandbox)).toMatchObject(expected);
  });
});
