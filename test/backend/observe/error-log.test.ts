/** What the log says of an error: enough to find its cause, and nothing of a caller's. */
import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { describeError, ServiceFailure } from "../../../backend/observe/error-log.ts";

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

  it("has the message of a failure that the service itself found", () => {
    expect(describeError(new ServiceFailure("the disk is full"))).toMatchObject({ message: "the disk is full" });
    expect(describeError("thrown text")).toMatchObject({ type: "string", message: "" });
  });
});
