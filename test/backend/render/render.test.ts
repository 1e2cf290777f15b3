/** A render whose process was lost. */
import { expect, it, onTestFinished, vi } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { render } from "../../../backend/render/render.ts";
import { RenderThreads } from "../../../backend/typst/render-threads.ts";
import { TypstSupervisor } from "../../../backend/typst/supervisor.ts";
import { WarmPool } from "../../../backend/typst/warm-pool.ts";
import { WorkDirectoryWatch } from "../../../backend/work-directory/watch.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { typstProcessesOf } from "../../support/backend/processes.ts";
import { openTestSandbox, PDF } from "../../support/backend/test-sandbox.ts";

it("discards a process once that was lost while it waited, even if there can be no other", async () => {
  const { settings, sandbox, launcher } = await openTestSandbox("none");
  const supervisor = new TypstSupervisor(settings, sandbox, launcher);
  const threads = new RenderThreads({ shareOfSlots: () => 1 }, settings.renderMemoryBytes, 1);
  const warmPool = new WarmPool({ supervisor, threads, maxWaiting: 1, slots: 1, queue: { running: 0 } });
  const workDirectoryWatch = new WorkDirectoryWatch([]);
  onTestFinished(async () => {
    workDirectoryWatch.stop();
    await supervisor.close();
  });
  const budget = () => new ByteBudget(1e9, 1e9);
  const [tempSpace, outputMemory] = [budget(), budget()];
  const body = Buffer.from('{"source":"x"}');
  const parsed = parseRenderRequest(body, DEFAULT_LIMITS);
  if (!parsed.ok) throw new Error(parsed.problem.detail);

  const lost = await supervisor.start({ output: PDF, fontCount: 0 }, "ahead");
  await expect.poll(() => typstProcessesOf(settings.workDirectory)).toHaveLength(1);
  for (const pid of typstProcessesOf(settings.workDirectory)) process.kill(pid, "SIGKILL");
  await expect.poll(() => lost.process.hasEnded).toBe(true);
  vi.spyOn(warmPool, "take").mockResolvedValue(lost);
  vi.spyOn(supervisor, "start").mockRejectedValue(new Error("ENOSPC"));
  const discard = vi.spyOn(supervisor, "discard");
  const resources = { settings, sandbox, supervisor, threads, warmPool, workDirectoryWatch, tempSpace, outputMemory };
  const valid = { body, request: parsed.request, caller: "caller", answerBy: Number.POSITIVE_INFINITY };
  await expect(render(resources, valid, new AbortController().signal)).rejects.toThrow("ENOSPC");
  // A second time, the directory could be kept twice: two renders would share it.
  expect(discard).toHaveBeenCalledExactlyOnceWith(lost);
  await expect.poll(() => tempSpace.reservedBytes).toBe(0);
});
