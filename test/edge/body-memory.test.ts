/** The budget for bodies in one isolate. */
import { describe, expect, it } from "vitest";
import { BodyMemory } from "../../edge/body-memory.ts";

const MEBIBYTE = 1024 * 1024;

describe("the memory for bodies", () => {
  it("holds three of the largest bodies side by side; a fourth waits for one of them", async () => {
    const memory = new BodyMemory();
    const finish: (() => void)[] = [];
    const started: number[] = [];
    const hold = (index: number) =>
      memory.withRoomFor(20 * MEBIBYTE, () => {
        started.push(index);
        return new Promise<number>((resolve) => finish.push(() => resolve(index)));
      });
    const requests = [hold(0), hold(1), hold(2), hold(3)];
    await scheduler.wait(100);
    expect(started).toEqual([0, 1, 2]);
    finish[0]?.();
    await scheduler.wait(100);
    expect(started).toEqual([0, 1, 2, 3]);
    for (const release of finish) release();
    expect(await Promise.all(requests)).toEqual([0, 1, 2, 3]);
    expect(memory.reservedBytes).toBe(0);
  });

  it("sends away who finds no room in time", async () => {
    const memory = new BodyMemory(10);
    let release = () => {};
    const first = memory.withRoomFor(8, () => new Promise<void>((resolve) => (release = resolve)));
    expect(await memory.withRoomFor(3, async () => "served")).toBeNull();
    release();
    await first;
    expect(await memory.withRoomFor(3, async () => "served")).toBe("served");
  });

  it("gives the room back when the work fails", async () => {
    const memory = new BodyMemory(10);
    await expect(memory.withRoomFor(8, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(memory.reservedBytes).toBe(0);
  });

  it("serves a body larger than the whole budget alone", async () => {
    const memory = new BodyMemory(10);
    expect(await memory.withRoomFor(50, async () => memory.reservedBytes)).toBe(10);
  });
});
