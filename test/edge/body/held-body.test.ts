/** The body of a request while backends are tried: who may take its memory, and when it is free. */
import { expect, it, vi } from "vitest";
import { BodyMemory } from "../../../edge/body/body-memory.ts";
import { HeldBody } from "../../../edge/body/held-body.ts";

const BYTES = new Uint8Array([1, 2, 3]);

async function hold() {
  const memory = new BodyMemory(30, 100);
  const reservation = memory.reserve("a", 60_000);
  await reservation.growTo(30);
  const free = vi.fn();
  const body = new HeldBody({ finish: () => BYTES, free }, reservation);
  return { memory, reservation, body, free };
}

it("is there to be sent again until another request takes its memory", async () => {
  const { memory, reservation, body, free } = await hold();
  reservation.reclaim();
  expect(body.bytes).toBe(BYTES);
  body.offer();
  expect([body.bytes, free.mock.calls.length, memory.reservedBytes]).toEqual([BYTES, 0, 30]);
  reservation.reclaim();
  expect([body.bytes, free.mock.calls.length, memory.reservedBytes]).toEqual([null, 1, 0]);
});

it("cannot be taken any more when the offer is withdrawn", async () => {
  const { reservation, body, free } = await hold();
  body.offer();
  body.withdraw();
  reservation.reclaim();
  expect([body.bytes, free.mock.calls.length, reservation.bytes]).toEqual([BYTES, 0, 30]);
});

it("is freed once, with its memory, when it is released", async () => {
  const { memory, body, free } = await hold();
  body.release();
  body.release();
  expect([body.bytes, free.mock.calls.length, memory.reservedBytes]).toEqual([null, 1, 0]);
});
