/** The directories of renders: which ones serve another render, and which ones never do. */
import { describe, expect, it, onTestFinished } from "vitest";
import { DISCARD_OUTPUT, type TypstProcess } from "../../../backend/typst/process.ts";
import { TypstSupervisor } from "../../../backend/typst/supervisor.ts";
import type { RenderCommand } from "../../../compile/command-line.ts";
import { ENDLESS } from "../../support/bombs.ts";
import { typstProcessesOf } from "../../support/processes.ts";
import { openTestSandbox, PDF, SANDBOXES } from "../../support/test-sandbox.ts";

const COMMAND: RenderCommand = { output: PDF, bringsFonts: false };

function perform(process: TypstProcess, source = "Hello") {
  return process.perform({
    input: [Buffer.from(source)],
    timeoutMilliseconds: 60_000,
    signal: new AbortController().signal,
    output: DISCARD_OUTPUT,
    files: null,
  });
}

describe.each([...SANDBOXES, "none"] as const)("in %s, a render directory", (mode) => {
  async function openSupervisor() {
    const { settings, sandbox, launcher } = await openTestSandbox(mode);
    const supervisor = new TypstSupervisor(settings, sandbox, launcher);
    onTestFinished(() => supervisor.close());
    const start = (when: "now" | "ahead" = "now") => supervisor.start(COMMAND, when);
    return { settings, supervisor, start };
  }

  it("serves the next render when its process has ended by itself", async () => {
    const { supervisor, start } = await openSupervisor();
    const first = await start("ahead");
    await perform(first.process);
    await supervisor.discard(first);
    expect((await start()).renderDirectory).toBe(first.renderDirectory);
  });

  it.each(["now", "ahead"] as const)(
    "serves no other render when its process was started %s and killed",
    async (when) => {
      const { settings, supervisor, start } = await openSupervisor();
      const first = await start(when);
      const killed = perform(first.process, ENDLESS);
      await expect.poll(() => typstProcessesOf(settings.workDirectory)).toHaveLength(1);
      first.process.stop("client-gone");
      expect((await killed).end.kind).toBe("stopped");
      await supervisor.discard(first);
      expect((await start(when)).renderDirectory).not.toBe(first.renderDirectory);
    },
  );

  it("serves no other render when a second process in it was killed", async () => {
    const { supervisor, start } = await openSupervisor();
    const first = await start();
    await perform(first.process);
    const second = supervisor.startIn(first.renderDirectory, ["compile", "-", "-"]);
    await second.discard();
    await supervisor.discard(first);
    expect((await start()).renderDirectory).not.toBe(first.renderDirectory);
  });
});
