/** When the pool starts a process, and which it discards for it. What the processes do is in warm-starts.test.ts. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { RenderThreads } from "../../../backend/compiler/render-threads.ts";
import { WarmPool } from "../../../backend/compiler/warm-pool.ts";
import type { RenderCommand } from "../../../typst/command-line.ts";
import { PAGES, PDF } from "../../support/backend/test-sandbox.ts";

const COMMAND: RenderCommand = { output: PDF, fontCount: 0 };
const OTHER_COMMAND: RenderCommand = { output: PAGES, fontCount: 0 };
const SLOTS = 2;
/** Longer than a pool waits after a render. */
const DECIDED_MILLISECONDS = 10;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pool of one process, whose processes are never ready. @param shares of slots, by how many renders run */
function makePool(shares: readonly number[] = []) {
  const starts: string[] = [];
  const queue = { running: 0 };
  const supervisor = {
    start: ({ output }: RenderCommand, when = "now", threads = 1) => {
      starts.push(`${output.format} ${when}${threads > 1 ? ` ${threads} threads` : ""}`);
      return new Promise<never>(() => {});
    },
    discard: async () => {},
  };
  const shareOfSlots = () => shares[queue.running] ?? 1;
  const threads = new RenderThreads({ shareOfSlots }, 1024 ** 3, 8);
  const pool = new WarmPool({ supervisor, threads, maxWaiting: 1, slots: SLOTS, queue });
  return {
    /** Ends a render while `stillRunning` others run. @returns the processes that were started for the next one. */
    endRender: async (command: RenderCommand, stillRunning: number): Promise<readonly string[]> => {
      queue.running = stillRunning;
      const before = starts.length;
      pool.prepareNext(command);
      await vi.advanceTimersByTimeAsync(DECIDED_MILLISECONDS);
      return starts.slice(before);
    },
  };
}

describe("a process that waits in a full pool", () => {
  it.each([0, 1, 2])("gives way to none like it while %i renders run", async (running) => {
    const pool = makePool();
    await pool.endRender(COMMAND, 1);
    for (let round = 0; round < 20; round++) expect(await pool.endRender(COMMAND, running)).toEqual([]);
  });

  it("gives way to one that finds its fonts ahead as soon as no render runs", async () => {
    const pool = makePool();
    expect(await pool.endRender(COMMAND, 2)).toEqual(["pdf now"]);
    expect(await pool.endRender(COMMAND, 1)).toEqual([]);
    expect(await pool.endRender(COMMAND, 0)).toEqual(["pdf ahead"]);
  });

  it("gives way to one with more threads as soon as no render runs, and to none with fewer", async () => {
    const pool = makePool([2, 1]);
    expect(await pool.endRender(COMMAND, 1)).toEqual(["pdf ahead"]);
    expect(await pool.endRender(COMMAND, 0)).toEqual(["pdf ahead 2 threads"]);
    for (const running of [0, 1, 2]) expect(await pool.endRender(COMMAND, running)).toEqual([]);
  });

  it("gives way to one with another command line if no render runs", async () => {
    const pool = makePool();
    for (let round = 0; round < 5; round++) {
      expect(await pool.endRender(COMMAND, 0)).toEqual(["pdf ahead"]);
      expect(await pool.endRender(OTHER_COMMAND, 0)).toEqual(["svg ahead"]);
    }
  });

  it("gives way to one with another command line once in eight renders if some run, and never if all slots are busy", async () => {
    const pool = makePool();
    await pool.endRender(COMMAND, 0);
    const replacements: string[][] = [];
    for (let render = 1; render <= 24; render++) {
      const command = render % 2 === 0 ? COMMAND : OTHER_COMMAND;
      replacements.push(...(await pool.endRender(command, 1)).map((started) => [`render ${render}`, started]));
    }
    expect(replacements).toEqual([
      ["render 7", "svg ahead"],
      ["render 16", "pdf ahead"],
    ]);
    for (let render = 0; render < 20; render++) expect(await pool.endRender(OTHER_COMMAND, SLOTS)).toEqual([]);
  });
});
