/** What a render leaves, and when: of a process that was lost, of its directory, of its body. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, onTestFinished, vi } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { RenderThreads } from "../../../backend/compiler/render-threads.ts";
import { TypstSupervisor } from "../../../backend/compiler/supervisor.ts";
import { WarmPool } from "../../../backend/compiler/warm-pool.ts";
import { type RenderResources, render, type ValidRequest } from "../../../backend/render/render.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { WorkDirectoryWatch } from "../../../backend/work-directory/watch.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import type { Output } from "../../../rules/output-options.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { typstProcessesOf } from "../../support/backend/processes.ts";
import { projectsIn } from "../../support/backend/test-backend.ts";
import { openTestSandbox, PAGES, PDF } from "../../support/backend/test-sandbox.ts";

async function openResources() {
  const { settings, sandbox, launcher } = await openTestSandbox("none");
  const supervisor = new TypstSupervisor(settings, sandbox, launcher);
  const threads = new RenderThreads({ shareOfSlots: () => 1 }, settings.renderMemoryBytes, 1);
  const warmPool = new WarmPool({ supervisor, threads, maxWaiting: 1, slots: 1, queue: { running: 0 } });
  const workDirectoryWatch = new WorkDirectoryWatch([]);
  onTestFinished(async () => {
    workDirectoryWatch.stop();
    await warmPool.close();
    await supervisor.close();
  });
  const budget = () => new ByteBudget(1e9, 1e9);
  const [tempSpace, outputMemory] = [budget(), budget()];
  return { launcher, settings, sandbox, supervisor, warmPool, workDirectoryWatch, tempSpace, outputMemory };
}

function validRequest(request: object): ValidRequest {
  const body = Buffer.from(JSON.stringify(request));
  const parsed = parseRenderRequest(body, DEFAULT_LIMITS);
  if (!parsed.ok) throw new Error(parsed.problem.detail);
  return { body, request: parsed.request, caller: "caller", answerBy: Number.POSITIVE_INFINITY };
}

/** A process that is killed while it waits. */
async function loseWaiting({ settings, supervisor }: RenderResources, output: Output) {
  const lost = await supervisor.start({ output, fontCount: 0 }, "ahead");
  await expect.poll(() => typstProcessesOf(settings.workDirectory)).toHaveLength(1);
  for (const pid of typstProcessesOf(settings.workDirectory)) process.kill(pid, "SIGKILL");
  await expect.poll(() => lost.hasEnded).toBe(true);
  return lost;
}

const NEVER = new AbortController().signal;

it("discards a process once that was lost while it waited, even if there can be no other", async () => {
  const resources = await openResources();
  const { supervisor, warmPool, tempSpace } = resources;
  const lost = await loseWaiting(resources, PDF);
  vi.spyOn(warmPool, "take").mockResolvedValue({ process: lost, hasWaited: true });
  vi.spyOn(supervisor, "start").mockRejectedValue(new Error("ENOSPC"));
  const discard = vi.spyOn(supervisor, "discard");
  await expect(render(resources, validRequest({ source: "x" }), NEVER)).rejects.toThrow("ENOSPC");
  // A second time, the directory could be kept twice: two renders would share it.
  expect(discard).toHaveBeenCalledExactlyOnceWith(lost);
  await expect.poll(() => tempSpace.reservedBytes).toBe(0);
});

it("starts no second process before nothing is left of the first, whose files its reservation covers", async () => {
  const resources = await openResources();
  const { settings, supervisor, warmPool } = resources;
  const lost = await loseWaiting(resources, PAGES);
  vi.spyOn(warmPool, "take").mockResolvedValue({ process: lost, hasWaited: true });
  const start = supervisor.start.bind(supervisor);
  const seen: string[][] = [];
  vi.spyOn(supervisor, "start").mockImplementation(async (...parameters) => {
    seen.push(await projectsIn(settings.workDirectory));
    return start(...parameters);
  });
  const output = { format: "svg", archive: "zip" };
  const { outcome } = await render(resources, validRequest({ source: "x", output }), NEVER);
  expect(outcome.kind).toBe("rendered");
  if (outcome.kind === "rendered") await outcome.file.close();
  expect(seen).toEqual([[]]);
});

it.each([
  ["is tried once more", 1, "rendered"],
  ["is not tried a third time", 2, null],
])("a render whose shell dies before it has begun %s", async (_what, failures, kind) => {
  const resources = await openResources();
  const end = Promise.resolve({ kind: "failed", reason: "its shell ended: SIGKILL", hasStarted: false } as const);
  const nothing = Promise.resolve(null);
  const start = vi.spyOn(resources.launcher, "start");
  for (let failure = 0; failure < failures; failure++) {
    start.mockReturnValueOnce({ output: nothing, ancestorPid: nothing, end, write: async () => false, kill: () => {} });
  }
  const rendering = render(resources, validRequest({ source: "x" }), NEVER);
  if (kind === null) {
    await expect(rendering).rejects.toThrow("the sandbox failed: its shell ended: SIGKILL");
    return;
  }
  const { outcome } = await rendering;
  expect(outcome.kind).toBe(kind);
  if (outcome.kind === "rendered") await outcome.file.close();
});

it("fails as the machine if its output cannot be kept, whatever Typst makes of that", async () => {
  const resources = await openResources();
  const nowhere = { ...resources.settings, workDirectory: "/nonexistent" };
  const without = { ...resources, settings: nowhere, outputMemory: new ByteBudget(0, 0) };
  await expect(render(without, validRequest({ source: "x" }), NEVER)).rejects.toThrow("ENOENT");
});

it("holds no body, whose memory counts no longer, while its directory cannot be removed", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const resources = await openResources();
  const isRemovable = Promise.withResolvers<void>();
  const removing = vi.spyOn(RenderDirectory.prototype, "keep").mockImplementation(async () => {
    await isRemovable.promise;
    return false;
  });
  onTestFinished(() => {
    isRemovable.resolve();
    removing.mockRestore();
  });
  const renderOnce = async () => {
    const valid = validRequest({ source: "x", data: "x".repeat(1_000_000) });
    const { outcome } = await render(resources, valid, NEVER);
    if (outcome.kind === "rendered") await outcome.file.close();
    return new WeakRef(valid.body.buffer);
  };
  const body = await renderOnce();
  await expect.poll(() => removing.mock.calls.length).toBe(1);
  const isHeld = () => {
    collectGarbage();
    return body.deref() !== undefined;
  };
  await expect.poll(isHeld).toBe(false);
  expect(resources.tempSpace.reservedBytes).toBeGreaterThan(0);
});
