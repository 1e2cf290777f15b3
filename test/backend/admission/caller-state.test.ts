/** What is known of one caller: how long its renders take, and how much slot time it has used lately. */
import { describe, expect, it } from "vitest";
import { CallerState } from "../../../backend/admission/caller-state.ts";

describe("the slot time that a caller has used", () => {
  it("is the time from the admission to the end of each render", () => {
    const state = new CallerState<never>(0);
    const [first, second] = [state.admit(0), state.admit(1)];
    expect(state.usedSeconds(4)).toBe(0);
    first(4);
    second(4);
    expect(state.usedSeconds(4)).toBe(7);
  });

  it("decays by half in 30 seconds", () => {
    const state = new CallerState<never>(0);
    state.admit(0)(8);
    expect([8, 38, 68].map((time) => state.usedSeconds(time))).toEqual([8, 4, 2]);
    state.admit(37)(38);
    expect(state.usedSeconds(38)).toBe(5);
  });

  it("counts the end of a render once, with the renders that run", () => {
    const state = new CallerState<never>(0);
    const [ends] = [state.admit(0), state.admit(0)];
    ends?.(2);
    ends?.(4);
    expect([state.usedSeconds(2), state.running]).toEqual([2, 1]);
  });
});

it("a caller is active for as long as one of its requests waits or renders", () => {
  const state = new CallerState<string>(0);
  state.waiting.add("request");
  expect(state.wasActiveWithin(15, 100)).toBe(true);
  state.waiting.clear();
  expect(state.wasActiveWithin(15, 100)).toBe(false);
  state.admit(0);
  expect(state.wasActiveWithin(15, 100)).toBe(true);
});

describe("the expected length of a caller's renders", () => {
  it("does not fall by a render that was stopped", () => {
    const state = new CallerState<never>(0);
    state.admit(0, true)(0.1, true);
    expect(state.expectedSeconds(1)).toBe(Number.POSITIVE_INFINITY);
    state.admit(1)(11);
    for (let count = 0; count < 100; count++) state.admit(11, true)(11.1, true);
    expect(state.expectedSeconds(12)).toBe(10);
    state.admit(12, true)(27, true);
    expect(state.expectedSeconds(27)).toBeCloseTo(11);
  });

  it("rises quickly and falls slowly", () => {
    const state = new CallerState<never>(0);
    state.admit(0)(1);
    state.admit(1)(12);
    expect(state.expectedSeconds(12)).toBeCloseTo(3);
    state.admit(12)(13);
    expect(state.expectedSeconds(13)).toBeCloseTo(2.9);
  });
});
