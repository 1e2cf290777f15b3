/** How each sandbox reads the end of the program that it has named: as an end of Typst's, or as its own failure. */
import { expect, it } from "vitest";
import { exposeLaunchFailure } from "../../../backend/compiler/process.ts";
import type { ProgramEnd } from "../../../backend/launcher/program.ts";
import type { SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { openTestSandbox } from "../../support/backend/test-sandbox.ts";

const exited = (exitCode: number, diagnostics = ""): ProgramEnd => ({ kind: "exited", exitCode, diagnostics });
const signalled = (signal: string): ProgramEnd => ({ kind: "signalled", signal, diagnostics: "" });
const sandboxFailed = (reason: string) => ({ kind: "failed", reason, hasStarted: false });

const NOT_FOUND: ProgramEnd = { kind: "failed", reason: "not found", hasStarted: false };
const TYPST_ERROR = "error: bwrap: setpriv: as a template may write";

const OF_SANDBOXES: readonly (readonly [ProgramEnd, object])[] = [
  [exited(0), { kind: "exited", exitCode: 0 }],
  [exited(1, TYPST_ERROR), { kind: "exited", exitCode: 1 }],
  [signalled("SIGXCPU"), { kind: "signalled", signal: "SIGXCPU" }],
  // A program that cannot be run, a library that is missing, no start.
  [exited(126), sandboxFailed("exit code 126")],
  [exited(127), sandboxFailed("exit code 127")],
  [exited(127, "/bin/sh: 1: exec: /x: not found"), sandboxFailed("exit code 127: /bin/sh: 1: exec: /x: not found")],
  [exited(127, TYPST_ERROR), sandboxFailed("exit code 127")],
  [NOT_FOUND, sandboxFailed("not found")],
];

it.each<[SandboxMode, typeof OF_SANDBOXES]>([
  [
    "bubblewrap",
    [...OF_SANDBOXES, [exited(1, "bwrap: Can't mkdir\nmore"), sandboxFailed("exit code 1: bwrap: Can't mkdir")]],
  ],
  ["landlock", [...OF_SANDBOXES, [exited(1, "setpriv: landlock"), sandboxFailed("exit code 1: setpriv: landlock")]]],
  [
    "none",
    [
      [exited(0), { kind: "exited", exitCode: 0 }],
      [signalled("SIGSEGV"), { kind: "signalled", signal: "SIGSEGV" }],
      [exited(1, "bwrap: x"), { kind: "exited", exitCode: 1 }],
      [exited(127), sandboxFailed("exit code 127")],
    ],
  ],
])("%s tells an end of Typst from its own failure", async (mode, ends) => {
  const { sandbox } = await openTestSandbox(mode);
  for (const [end, expected] of ends) expect(exposeLaunchFailure(end, sandbox)).toMatchObject(expected);
});
