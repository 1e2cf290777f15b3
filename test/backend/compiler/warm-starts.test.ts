import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { killIfThere } from "../../../backend/processes/proc.ts";
import { ENDLESS } from "../../support/backend/bombs.ts";
import { makeFakeTypst } from "../../support/backend/fake-typst.ts";
import { isRunning, processesOf, processStatus, typstProcessesOf } from "../../support/backend/processes.ts";
import { textFile } from "../../support/backend/request-files.ts";
import { startTemporaryBackend, startTestBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";

const startWarmBackend = () =>
  startTemporaryBackend({ SERVICE_WARM_RENDERS: "1", SERVICE_MAX_CONCURRENT_RENDERS: "2" });

/** Renders that have ended count that long in the shares of others (`RenderQueue.shareOfSlots`). */
const SHARE_MEMORY_MILLISECONDS = 2000;

const warmTakes = (backend: TestBackend) => backend.metric("service_warm_renders_used_total");

/** The waiting processes, once there are `count` of them and all renders have ended. */
async function waitingPids(backend: TestBackend, count: number): Promise<number[]> {
  const pids = () => typstProcessesOf(backend.workDirectory);
  await expect.poll(async () => [pids().length, (await backend.projects()).length]).toEqual([count, count]);
  return pids();
}

async function expectText(backend: TestBackend, text: string): Promise<void> {
  expect((await readPdf(await backend.renderFile({ source: text }))).pageTexts).toEqual([text]);
}

describe("a process that waits", () => {
  it("serves the next request of its kind and no other", async () => {
    const backend = await startWarmBackend();
    const seenPids = new Set<number>();
    const seenProjects = new Set<string>();
    for (let round = 0; round < 5; round++) {
      await expectText(backend, `letter ${round}`);
      const [pid = 0] = await waitingPids(backend, 1);
      const [project = ""] = await backend.projects();
      expect([seenPids.has(pid), seenProjects.has(project)]).toEqual([false, false]);
      expect([...seenPids].filter(isRunning)).toEqual([]);
      seenPids.add(pid);
      seenProjects.add(project);
    }
    expect(await warmTakes(backend)).toBe(4);
  });

  it("serves no request for another format, other pages, another version or a standard", async () => {
    const backend = await startWarmBackend();
    for (const output of [{}, { format: "svg" }, { pages: "1" }, { standards: ["a-2b"] }]) {
      await backend.renderFile({ source: "x", output });
      await waitingPids(backend, 1);
    }
    expect(await warmTakes(backend)).toBe(0);
  });

  it("serves a request that differs only in its file name", async () => {
    const backend = await startWarmBackend();
    await expectText(backend, "x");
    await waitingPids(backend, 1);
    const answer = await backend.render({ source: "x", output: { filename: "other" } });
    expect(answer.headers.get("Content-Disposition")).toContain("other.pdf");
    expect(await warmTakes(backend)).toBe(1);
  });

  it.skipIf(availableParallelism() === 1)(
    "has a thread for each slot that no render uses, and no archive takes one with fewer",
    async () => {
      const backend = await startTemporaryBackend({ SERVICE_WARM_RENDERS: "2", SERVICE_MAX_CONCURRENT_RENDERS: "2" });
      const left = new AbortController();
      const endless = backend.render({ source: ENDLESS }, { signal: left.signal });
      await expect.poll(() => backend.metric("service_renders_running")).toBe(1);
      const pages = { source: "#pagebreak()", output: { format: "svg", archive: "zip" } };
      const threadsOf = (pids: readonly number[]) => pids.map((pid) => processStatus(pid).Threads).toSorted();
      await backend.renderFile(pages);
      await expect.poll(() => threadsOf(typstProcessesOf(backend.workDirectory))).toEqual(["1", "2"]);
      left.abort();
      await expect(endless).rejects.toThrow();
      await expect.poll(() => backend.metric("service_warm_renders_waiting")).toBe(2);
      await expect.poll(() => threadsOf(typstProcessesOf(backend.workDirectory))).toEqual(["1", "1"]);
      await delay(SHARE_MEMORY_MILLISECONDS);
      for (const takes of [0, 1]) {
        await backend.renderFile(pages);
        await expect.poll(() => threadsOf(typstProcessesOf(backend.workDirectory))).toEqual(["1", "2"]);
        expect(await warmTakes(backend)).toBe(takes);
      }
    },
  );

  const VICTIMS: [string, (pid: number) => number[]][] = [
    ["alone", (pid) => [pid]],
    ["with its sandbox", (pid) => [Number(processStatus(pid).PPid), pid]],
  ];

  it.each(VICTIMS)("is replaced if it is killed meanwhile or just before its request, %s", async (_what, victims) => {
    const backend = await startWarmBackend();
    await expectText(backend, "x");
    const [first = 0] = await waitingPids(backend, 1);
    for (const victim of victims(first)) killIfThere(victim);
    await expect.poll(() => backend.metric("service_warm_renders_waiting")).toBe(0);
    await expect.poll(() => backend.projects()).toEqual([]);
    await expectText(backend, "later");
    const [second = 0] = await waitingPids(backend, 1);
    expect(await warmTakes(backend)).toBe(0);
    for (const victim of victims(second)) killIfThere(victim);
    await expectText(backend, "at once");
    await waitingPids(backend, 1);
  });

  it("is replaced if it is killed after it has begun to write", async () => {
    const script = `
      tail -n 1 > /dev/null
      echo x >> "$here/runs"
      if [ "$(wc -l < "$here/runs")" = 2 ]; then printf part; kill -9 $$; fi
      printf whole`;
    const { path } = await makeFakeTypst(script);
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: path, SERVICE_WARM_RENDERS: "1" });
    expect(await (await backend.render({ source: "x" })).text()).toBe("whole");
    await expect.poll(() => backend.metric("service_warm_renders_waiting")).toBe(1);
    expect(await (await backend.render({ source: "x" })).text()).toBe("whole");
    expect(await warmTakes(backend)).toBe(1);
  });

  it("has nothing of the request before", async () => {
    const backend = await startWarmBackend();
    const files = { "secret.txt": textFile("the secret") };
    for (let round = 0; round < 2; round++) {
      const own = { source: '#read("secret.txt") #sys.inputs.len()', files, data: { secret: "the secret" } };
      expect((await backend.render(own)).status).toBe(200);
      await waitingPids(backend, 1);
      const spying = { source: '#read("secret.txt")' };
      await expectProblem(await backend.render(spying), "template_compile_failed");
      await waitingPids(backend, 1);
      const data = { source: '#assert.eq(json(":data.json"), (:))' };
      expect((await backend.render(data)).status).toBe(200);
      await waitingPids(backend, 1);
    }
    expect(await warmTakes(backend)).toBe(5);
  });
});

describe("processes that wait", () => {
  it.each(["when they wait", "while they start"])(
    "are gone with their folders if the backend closes %s",
    async (when) => {
      const backend = await startTestBackend({ SERVICE_WARM_RENDERS: "2" });
      await Promise.all([{}, { format: "svg" }].map((output) => backend.renderFile({ source: "x", output })));
      const pids = when === "when they wait" ? await waitingPids(backend, 2) : [];
      await backend.close();
      expect(pids.filter(isRunning)).toEqual([]);
      expect(processesOf(backend.workDirectory)).toEqual([]);
      await expect(backend.projects()).rejects.toThrow();
    },
  );
});
