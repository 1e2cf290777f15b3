/** What the log says of an error: enough to find its cause, and nothing of a caller's. */
import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { describeError, ServiceFailure } from "../../backend/error-log.ts";

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return null;
}

describe("an error in the log", () => {
  it("names what failed but nothing of a caller's", async () => {
    const error: unknown = await writeFile("/nowhere/JANE-DOE-salary.csv", "").catch((failure: unknown) => failure);
    const logged = describeError(error);
    expect(logged).toMatchObject({ type: "Error", message: "", code: "ENOENT", syscall: "open" });
    expect(JSON.stringify(logged)).not.toContain("JANE");
  });

  it("has a stack without lines of the message", () => {
    const logged = describeError(new SyntaxError("Unexpected token\n    at JANE-DOE (salary.csv:1:1)"));
    expect(JSON.stringify(logged)).not.toContain("JANE");
    expect(logged.stack).toMatch(/^at /);
  });

  it.each([
    ["another one", "another"],
    ["none", ""],
    ["its beginning", "JANE"],
    ["its end", "salary.csv"],
    ["the name of its type", "Error"],
  ])("has nothing of a message that was changed to %s", (_what, message) => {
    for (const original of ["JANE-DOE salary.csv", "JANE-DOE\n    at salary.csv"]) {
      const error = new Error(original);
      // A hook of the test runner makes the stack when it is first read; without one, it is made with the error.
      expect(error.stack).toContain("JANE");
      error.message = message;
      expect(describeError(error).stack).not.toMatch(/JANE|DOE|salary/);
    }
  });

  it.each([
    ["no message", Object.assign(new Error(), { stack: "Error\n    at f (file:///a.ts:1:2)" })],
    ["a message", new ServiceFailure("the disk: is full")],
    ["a message of several lines", new TypeError("a\n    b\n")],
    ["a code", Object.assign(new RangeError("x"), { code: "ERR_X" })],
    ["the code of Node in its first line", thrownBy(() => Buffer.alloc(-1))],
    ["another origin", thrownBy(() => AbortSignal.abort().throwIfAborted())],
  ])("has the stack of an error with %s", (_what, error) => {
    const { stack } = describeError(error);
    expect(stack).toMatch(/^at .*:\d+:\d+\)?$/m);
    expect(stack.split("\n").every((line) => line.startsWith("at "))).toBe(true);
  });

  it("has the message of a failure that the service itself found", () => {
    expect(describeError(new ServiceFailure("the disk is full"))).toMatchObject({ message: "the disk is full" });
    expect(describeError("thrown text")).toMatchObject({ type: "string", message: "" });
  });
});
