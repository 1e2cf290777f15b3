/** When the pool starts a process, and which it discards for it. What the processes do is in warm-starts.test.ts. */
import { describe, expect, it } from "vitest";
import { WarmPool } from "../../../backend/typst/warm-pool.ts";
import type { RenderCommand } from "../../../compile/command-line.ts";
import { PAGES, PDF } from "../../support/test-sandbox.ts";

const COMMAND: RenderCommand = { output: PDF, bringsFonts: false };
const OTHER_COMMAND: RenderCommand = { output: PAGES, bringsFonts: false };
const SLOTS = 2;

/** A pool of one process, whose processes are never ready. */
function makePool() {
  const starts: string[] = [];
  let running = 0;
  const start = ({ output }: RenderCommand, when = "now") => {
    starts.push(`${output.format} ${when}`);
    return new Promise<never>(() => {});
  };
  const pool = new WarmPool({ start, discard: async () => {} }, 1, SLOTS, () => running);
  return {
    /** Ends a render while so many run, and a render with another command line, whose process shows that the pool has decided. */
    startsAfter: async (nowRunning: number): Promise<readonly string[]> => {
      running = nowRunning;
      pool.prepareNext(COMMAND);
      pool.prepareNext(OTHER_COMMAND);
      const before = starts.length;
      await expect.poll(() => starts.slice(before)).toContain(`svg ${running < SLOTS ? "ahead" : "now"}`);
      return starts;
    },
    prepare: async (nowRunning: number): Promise<void> => {
      running = nowRunning;
      const before = starts.length;
      pool.prepareNext(COMMAND);
      await expect.poll(() => starts.length).toBe(before + 1);
    },
  };
}

describe("a process that waits in a full pool", () => {
  it.each([0, 1, 2])("gives way to none like it while %i renders run", async (running) => {
    const pool = makePool();
    await pool.prepare(1);
    expect(await pool.startsAfter(running)).toEqual(["pdf ahead", running < SLOTS ? "svg ahead" : "svg now"]);
  });

  it("gives way to one that finds its fonts ahead as soon as no render runs", async () => {
    const pool = makePool();
    await pool.prepare(2);
    expect(await pool.startsAfter(0)).toEqual(["pdf now", "pdf ahead", "svg ahead"]);
  });

  it("keeps its place without its fonts while a render runs", async () => {
    const pool = makePool();
    await pool.prepare(2);
    expect(await pool.startsAfter(1)).toEqual(["pdf now", "svg ahead"]);
  });
});
