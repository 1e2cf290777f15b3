/** Stops synchronous work that might run forever: V8 interrupts loops and regular expressions, but not waiting. */
import { createContext, Script } from "node:vm";

export const OUT_OF_TIME = Symbol("out of time");

const context = createContext({ run: () => {} });
const script = new Script("run()");

export function runWithinSeconds<Result>(seconds: number, run: () => Result): Result | typeof OUT_OF_TIME {
  let result: Result | typeof OUT_OF_TIME = OUT_OF_TIME;
  context.run = () => {
    result = run();
  };
  try {
    script.runInContext(context, { timeout: Math.ceil(seconds * 1000) });
  } catch (error) {
    // The error comes from the other context, so `instanceof` does not work.
    const isTimeout =
      typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    if (!isTimeout) throw error;
  }
  return result;
}
