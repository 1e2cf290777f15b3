/** From the end of Typst to the answer: exits, signals, timeouts, outputs that are too large or missing. */
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { CAUSES } from "../../../rules/causes.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { makeFakeTypst, writtenPids } from "../../support/backend/fake-typst.ts";
import { isRunning } from "../../support/backend/processes.ts";
import { startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { type ContractCode, expectProblem, type ReceivedProblem } from "../../support/problems.ts";

async function backendWithFake(script: string, environment: Readonly<Record<string, string>> = {}) {
  const typst = await makeFakeTypst(script);
  return { typst, backend: await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path, ...environment }) };
}

/** Expects the problem without Typst's diagnostics, and no render directory left behind. */
async function expectOutcome(backend: TestBackend, answer: Response, code: ContractCode): Promise<ReceivedProblem> {
  const problem = await expectProblem(answer, code);
  const everything = JSON.stringify([problem, Object.fromEntries(answer.headers)]);
  expect(everything).not.toContain("SECRET");
  expect(everything).not.toContain("secret");
  expect(everything).not.toContain(backend.workDirectory);
  await expect.poll(() => backend.projects()).toEqual([]);
  return problem;
}

/** A flood of one second is far more. Not a small number, because dropped buffers are garbage collected late. */
const MOST_MEBIBYTES = 256;

describe("Typst that fails", () => {
  it("gets the problem of its end", async () => {
    const { backend } = await backendWithFake('eval "$(tail -n 1)"');
    for (const [script, code] of [
      ["exit 1", "template_compile_failed"],
      ["printf %%PDF-1.7; exit 1", "template_compile_failed"],
      ["exit 101", "template_compile_failed"],
      ["kill -SEGV $$", "render_failed"],
      ["kill -KILL $$", "render_failed"],
      ["kill -ABRT $$", "render_failed"],
      ["echo 'memory allocation of 8 bytes failed' >&2; kill -ABRT $$", "template_compile_failed"],
      ["exit 0", "render_failed"],
      ["exec 1>&-; sleep 0.1; exit 0", "render_failed"],
    ] as const) {
      const { context } = await expectOutcome(backend, await backend.render({ source: `${script}\n` }), code);
      expect(context, script).toEqual({});
    }
  });

  it("on an invalid source gets an answer that shows nothing of the source, and the next render is not affected", async () => {
    const backend = await startTemporaryBackend();
    const answer = await backend.render({ source: '#let secret-name = 1\n#panic("SECRET text")' });
    await expectOutcome(backend, answer, "template_compile_failed");
    expect((await backend.render({ source: "x" })).status).toBe(200);
  });
});

const NO_TIMEOUT = Object.fromEntries(Object.keys(CAUSES.render_timeout).map((cause) => [cause, 0]));

/** The count of each cause in the metrics. */
async function timeouts(backend: TestBackend): Promise<Record<string, number>> {
  const samples = (await backend.metrics()).filter(({ name }) => name === "service_render_timeouts_total");
  return Object.fromEntries(samples.map(({ labels, value }) => [labels.cause, value]));
}

// A render has no more threads than there are cores.
describe.skipIf(availableParallelism() === 1)("Typst that fails with several threads", () => {
  /** Fails like this unless it has one thread. */
  const failWithThreads = (end: string) =>
    backendWithFake(
      `tail -n 1 > /dev/null; case "$*" in *"--jobs 1 "*) printf whole;; *) echo x >> "$here/failures"; ${end};; esac`,
      { SERVICE_MAX_CONCURRENT_RENDERS: "2", SERVICE_WARM_RENDERS: "0" },
    );

  it.each([
    ["lacks memory", "echo 'memory allocation of 8 bytes failed' >&2; kill -ABRT $$"],
    ["has small stacks", "kill -SEGV $$"],
    ["is killed by the machine", "kill -KILL $$"],
  ])("since it %s makes the document with one", async (_why, end) => {
    const { typst, backend } = await failWithThreads(end);
    expect(await (await backend.render({ source: "x" })).text()).toBe("whole");
    expect(await typst.read("failures")).toBe("x\n");
  });

  it.each([
    ["exit 1", "template_compile_failed"],
    ["exit 101", "template_compile_failed"],
    ["kill -XCPU $$", "render_timeout"],
    ["kill -XFSZ $$", "output_too_large"],
  ] as const)("for another reason is not started again: %s", async (end, code) => {
    const { backend } = await failWithThreads(end);
    await expectProblem(await backend.render({ source: "x" }), code);
  });
});

describe("a program that is not started", () => {
  it("is logged with what its shell says, and tried once more", async () => {
    const { typst, backend } = await backendWithFake("exit 1");
    await rm(typst.path);
    await expectProblem(await backend.render({ source: "x" }), "service_unavailable");
    await expect.poll(() => backend.logged).toHaveLength(2);
    expect(backend.logged[0]).toMatchObject({
      err: { message: expect.stringMatching(/^the sandbox failed: exit code 127: .*not found$/) },
    });
  });
});

describe("Typst that takes too long", () => {
  /** Enough time to start the processes to be killed, even on a busy machine. */
  const TIMEOUT_SECONDS = 2;
  const TIMEOUT = { SERVICE_RENDER_TIMEOUT_SECONDS: String(TIMEOUT_SECONDS) };
  /** It ignores every signal that can be ignored, and so do its children. */
  const FAMILY = `trap '' TERM INT HUP PIPE ABRT; sleep 300 & echo $! > "$here/child"
    (sleep 300 & echo $! > "$here/grandchild"; wait) & echo $$ > "$here/self"; wait`;

  it("is killed with everything that it started", async () => {
    const { backend, typst } = await backendWithFake(FAMILY, TIMEOUT);
    const started = performance.now();
    const answer = await backend.render({ source: "x" });
    const seconds = (performance.now() - started) / 1000;
    const { context } = await expectOutcome(backend, answer, "render_timeout");
    expect(context).toEqual({ timeout_secs: TIMEOUT_SECONDS });
    expect(answer.headers.get("Retry-After")).toBe("1");
    expect(seconds).toBeGreaterThan(TIMEOUT_SECONDS - 0.05);
    expect(await timeouts(backend)).toEqual({ ...NO_TIMEOUT, wall_clock: 1 });
    const pids = await writtenPids(typst, "self", "child", "grandchild");
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
  });

  it("is killed while it floods its diagnostics, which are not kept", async () => {
    const { backend } = await backendWithFake("yes SECRET >&2", TIMEOUT);
    const peakMebibytes = watchMemory();
    await expectOutcome(backend, await backend.render({ source: "x" }), "render_timeout");
    expect(peakMebibytes()).toBeLessThan(MOST_MEBIBYTES);
  });

  it("is killed by the limit of processor time, which the metrics count apart", async () => {
    const backend = await startTemporaryBackend({ ...NO_TIME_LIMIT, SERVICE_RENDER_CPU_SECONDS: "1" });
    const { detail } = await expectOutcome(backend, await backend.render({ source: ENDLESS }), "render_timeout");
    expect(detail).toContain("1 second of processor time");
    expect(await timeouts(backend)).toEqual({ ...NO_TIMEOUT, processor_time: 1 });
  });

  it.skipIf(availableParallelism() === 1)("is killed by the processor time of one of several threads", async () => {
    const settings = { ...NO_TIME_LIMIT, SERVICE_RENDER_CPU_SECONDS: "1", SERVICE_MAX_CONCURRENT_RENDERS: "2" };
    // Without a sandbox, nothing else limits it.
    const { backend } = await backendWithFake("while :; do :; done", { ...settings, SERVICE_SANDBOX: "none" });
    const { detail } = await expectOutcome(backend, await backend.render({ source: "x" }), "render_timeout");
    expect(detail).toContain("1 second of processor time");
  });

  it("is killed in its second compile, which asks for a page, and the finished document is delivered", async () => {
    // The first compile writes what Typst writes for a selection that matches nothing, so there is a second one.
    const PLACEHOLDER = "%PDF-1.7 /Type/Pages/Count 1/ /MediaBox[0 0 595 842]/ <</Length 8/Filter/FlateDecode>>";
    const script = `tail -n 1 > /dev/null
      if [ -e "$here/first" ]; then sleep 300; fi
      touch "$here/first"; printf '%s' '${PLACEHOLDER}'`;
    const { backend } = await backendWithFake(script, TIMEOUT);
    const answer = await backend.render({ source: "x", output: { pages: "7" } });
    expect([answer.status, await answer.text()]).toEqual([200, PLACEHOLDER]);
    expect(await backend.metric("service_render_phase_seconds_count", { phase: "probe" })).toBe(1);
    expect(await timeouts(backend)).toEqual(NO_TIMEOUT);
  });

  it("is abandoned if it has ended but a process that it started keeps its output open", async () => {
    const { backend, typst } = await backendWithFake('sleep 300 & echo $! > "$here/child"; exit 1', TIMEOUT);
    await expectOutcome(backend, await backend.render({ source: "x" }), "template_compile_failed");
    const pids = await writtenPids(typst, "child");
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
  });
});

describe("an output over the limit", () => {
  const LIMIT = 1_000_000;
  // No other limit stops an endless output.
  const SMALL = { SERVICE_MAX_OUTPUT_BYTES: String(LIMIT), ...NO_TIME_LIMIT };

  it("that never ends is cut off at once and never kept in memory", async () => {
    const { backend, typst } = await backendWithFake('echo $$ > "$here/self"; exec cat /dev/zero', SMALL);
    const peakMebibytes = watchMemory();
    const answer = await backend.render({ source: "x" });
    const { context } = await expectOutcome(backend, answer, "output_too_large");
    expect(peakMebibytes()).toBeLessThan(MOST_MEBIBYTES);
    expect(context).toEqual({ size: expect.any(Number), limit: LIMIT });
    expect(context.size).toBeGreaterThan(LIMIT);
    const pids = await writtenPids(typst, "self");
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
  });

  it("is a problem of its size even if Typst wrote it at once and has ended", async () => {
    const { backend } = await backendWithFake("cat > /dev/null; printf %02000d 0", {
      SERVICE_MAX_OUTPUT_BYTES: "1024",
    });
    for (const answer of await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(() => backend.render({ source: "x" })))) {
      const { context } = await expectProblem(answer, "output_too_large");
      expect(context).toEqual({ size: 2000, limit: 1024 });
    }
  });

  it("in several files is cut off while it grows", async () => {
    const script = 'cat /dev/zero > "$(dirname "$target")/1"';
    const { backend } = await backendWithFake(script, SMALL);
    const answer = await backend.render({ source: "x", output: { format: "png", archive: "zip" } });
    const { context } = await expectOutcome(backend, answer, "output_too_large");
    expect(context).toEqual({ size: expect.any(Number), limit: LIMIT });
    expect(context.size).toBeGreaterThan(LIMIT);
  });

  it("in an SVG counts what escaping adds", async () => {
    const script = `cat > /dev/null; printf '<svg><a href="?a&b">%01000d</a></svg>' 0`;
    const size = 1000 + '<svg><a href="?a&amp;b"></a></svg>'.length;
    const { backend } = await backendWithFake(script, { SERVICE_MAX_OUTPUT_BYTES: String(size - 1) });
    const { context } = await expectProblem(
      await backend.render({ source: "x", output: { format: "svg" } }),
      "output_too_large",
    );
    expect(context).toEqual({ size, limit: size - 1 });
  });
});

/**
 * Measures this process's memory, in which the backend runs.
 * @returns what ends that, and returns the peak growth in MiB
 */
function watchMemory(): () => number {
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  return () => {
    clearInterval(timer);
    return (peak - before) / 2 ** 20;
  };
}
