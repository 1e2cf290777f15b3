/** The client for Python, as a test calls it: by a driver that takes one command at a time. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const DRIVER = fileURLToPath(new URL("../../clients/python/python_driver.py", import.meta.url));

/** Whether there is an interpreter of the version that the client needs. */
export function hasPython(): boolean {
  return spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0;
}

export class PythonDriver {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    this.#process = spawn("python3", ["-B", DRIVER]);
    this.#process.stderr.pipe(process.stderr);
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  async ask(command: object): Promise<unknown> {
    this.#process.stdin.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("the driver has ended");
    return JSON.parse(value);
  }

  async call(method: "render" | "constraints", options: object, request?: object) {
    const called = await this.ask({ do: method, options, request });
    if (typeof called !== "object" || called === null || !("result" in called) || !("events" in called)) {
      throw new Error("no call");
    }
    const result: Record<string, unknown> = Object(called.result);
    const events: readonly unknown[] = Array.isArray(called.events) ? called.events : [];
    return { result, events };
  }

  stop(): void {
    this.#process.kill();
  }
}
