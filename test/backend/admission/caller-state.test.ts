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

it("a render counts as lent only if its slot is", () => {
  const state = new CallerState<never>(0);
  state.admit(0);
  const end = state.admit(0, true);
  expect([state.running, state.lent]).toEqual([2, 1]);
  end(1);
  expect([state.running, state.lent]).toEqual([1, 0]);
});

describe("a caller was active", () => {
  it("until some time after its last request or the end of its last render", () => {
    const state = new CallerState<never>(0);
    expect([15, 15.1].map((time) => state.wasActiveWithin(15, time))).toEqual([true, false]);
    state.admit(20)(22);
    expect([37, 37.1].map((time) => state.wasActiveWithin(15, time))).toEqual([true, false]);
    state.markActive(40);
    expect([55, 55.1].map((time) => state.wasActiveWithin(15, time))).toEqual([true, false]);
  });

  it("for as long as one of its requests waits or renders", () => {
    const state = new CallerState<string>(0);
    state.waiting.add("request");
    expect(state.wasActiveWithin(15, 100)).toBe(true);
    state.waiting.clear();
    expect(state.wasActiveWithin(15, 100)).toBe(false);
    state.admit(0);
    expect(state.wasActiveWithin(15, 100)).toBe(true);
  });
});

describe("the expected length of a caller's renders", () => {
  it("is unknown before the first has ended", () => {
    const state = new CallerState<never>(0);
    state.admit(0);
    expect(state.expectedSeconds(5)).toBe(Number.POSITIVE_INFINITY);
    expect([7, 3].map((unknown) => state.expectedSeconds(5, unknown))).toEqual([7, 5]);
  });

  it("is at least as long as the longest that runs", () => {
    const state = new CallerState<never>(0);
    state.admit(0)(1);
    state.admit(10);
    state.admit(12);
    expect(state.expectedSeconds(13)).toBe(3);
  });

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
