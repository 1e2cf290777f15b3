/** Finds the files that a program needs besides itself: its shared libraries and their loader. */
import { runProgram } from "../../typst/programs.mjs";

/** The absolute paths of a program's libraries, as listed by its own loader. A static program has none. */
export async function sharedLibraries(program: string): Promise<string[]> {
  // With this variable the loader lists what it would load and does not start the program. A static program has no
  // loader, ignores the variable and prints its version.
  const { stdout } = await runProgram(program, ["--version"], { LD_TRACE_LOADED_OBJECTS: "1" });
  return stdout.split("\n").flatMap((line) => /\t(?:\S+ => )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}
