/** Runs a program of the machine to its end, to see what it answers. Typst in its sandbox is run by the launcher instead. */
import { execFile } from "node:child_process";

export interface ProgramRun {
  /** The exit code, the system's code of the error if the program could not be started, or null if a signal has ended it. */
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MILLISECONDS = 10_000;

/** Runs a program without input, and with no environment variables but these. It ends with this process. Never rejects. */
export function runProgram(
  file: string,
  programArguments: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<ProgramRun> {
  return new Promise((resolve) => {
    const options = { env: environment, timeout: TIMEOUT_MILLISECONDS, killSignal: "SIGKILL" } as const;
    const child = execFile(file, programArguments, options, (error, stdout, stderr) => {
      process.off("exit", kill);
      resolve({ code: error === null ? 0 : (error.code ?? null), stdout, stderr });
    });
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.stdin?.end();
  });
}
