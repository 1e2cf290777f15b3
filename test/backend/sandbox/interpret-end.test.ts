/** How each sandbox reads the end of the program that it has named: as an end of Typst's, or as a failure of its own. */
import { describe, expect, it } from "vitest";
import type { ProgramEnd } from "../../../backend/launcher/program.ts";
import type { SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { openTestSandbox } from "../../support/test-sandbox.ts";

const exited = (exitCode: number, words: { diagnostics?: string; status?: string } = {}): ProgramEnd => ({
  kind: "exited",
  exitCode,
  diagnostics: "",
  status: "",
  ...words,
});
const signalled = (signal: string): ProgramEnd => ({ kind: "signalled", signal, diagnostics: "", status: "" });
const report = (exitCode: number) => ({ status: `{ "child-pid": 7 }\n{ "exit-code": ${exitCode} }\n` });
const sandboxFailed = (reason: string) => ({ kind: "sandbox-failed", reason });

const NOT_FOUND: ProgramEnd = { kind: "failed", reason: "ENOENT spawn" };
const TYPST_ERROR = { diagnostics: "error: bwrap: setpriv: prlimit: as a template may write" };

const ENDS: [SandboxMode, string, ProgramEnd, object][] = [
  ["bubblewrap", "a success that it reports", exited(0, report(0)), { kind: "exited", exitCode: 0 }],
  ["bubblewrap", "an error of Typst", exited(1, { ...report(1), ...TYPST_ERROR }), { kind: "exited", exitCode: 1 }],
  ["bubblewrap", "a signal that it reports", exited(137, report(137)), { kind: "signalled", signal: "SIGKILL" }],
  ["bubblewrap", "an end without a report", exited(1), sandboxFailed("exit code 1")],
  ["bubblewrap", "a success without a report", exited(0), sandboxFailed("exit code 0")],
  [
    "bubblewrap",
    "its own complaint",
    exited(1, { ...report(1), diagnostics: "bwrap: Can't mkdir" }),
    sandboxFailed("exit code 1"),
  ],
  ["bubblewrap", "a library that is missing", exited(127, report(127)), sandboxFailed("exit code 127")],
  ["bubblewrap", "its own end by a signal", signalled("SIGKILL"), sandboxFailed("signal SIGKILL")],
  ["bubblewrap", "no start", NOT_FOUND, sandboxFailed("ENOENT spawn")],
  ["landlock", "a success", exited(0), { kind: "exited", exitCode: 0 }],
  ["landlock", "an error of Typst", exited(1, TYPST_ERROR), { kind: "exited", exitCode: 1 }],
  ["landlock", "a signal", signalled("SIGXCPU"), { kind: "signalled", signal: "SIGXCPU" }],
  ["landlock", "a complaint", exited(1, { diagnostics: "setpriv: landlock" }), sandboxFailed("exit code 1")],
  ["landlock", "a complaint of prlimit", exited(1, { diagnostics: "prlimit: failed" }), sandboxFailed("exit code 1")],
  ["landlock", "a program that cannot be run", exited(126), sandboxFailed("exit code 126")],
  ["landlock", "no start", NOT_FOUND, sandboxFailed("ENOENT spawn")],
  ["none", "a success", exited(0), { kind: "exited", exitCode: 0 }],
  ["none", "a signal", signalled("SIGSEGV"), { kind: "signalled", signal: "SIGSEGV" }],
  ["none", "what others call a complaint", exited(1, { diagnostics: "bwrap: x" }), { kind: "exited", exitCode: 1 }],
  ["none", "a library that is missing", exited(127), sandboxFailed("exit code 127")],
];

describe("the end of a program", () => {
  it.each(ENDS)("under %s: %s", async (mode, _what, end, expected) => {
    const { sandbox } = await openTestSandbox(mode);
    expect(sandbox.interpretEnd(end)).toEqual(expected);
  });
});
