/** What is known of one caller: how long its renders take, and how much slot time it has used lately. */
import { describe, expect, it } from "vitest";
import { CallerLoad } from "../../../backend/admission/caller-load.ts";

describe("the slot time that a caller has used", () => {
  it("is the time from the admission to the end of each render", () => {
    const load = new CallerLoad<never>(0);
    const [first, second] = [load.admit(0), load.admit(1)];
    expect(load.usedSeconds(4)).toBe(0);
    first(4);
    second(4);
    expect(load.usedSeconds(4)).toBe(7);
  });

  it("decays by half in 30 seconds", () => {
    const load = new CallerLoad<never>(0);
    load.admit(0)(8);
    expect([8, 38, 68].map((time) => load.usedSeconds(time))).toEqual([8, 4, 2]);
    load.admit(37)(38);
    expect(load.usedSeconds(38)).toBe(5);
  });

  it("counts the end of a render once, with the renders that run", () => {
    const load = new CallerLoad<never>(0);
    const [ends] = [load.admit(0), load.admit(0)];
    ends?.(2);
    ends?.(4);
    expect([load.usedSeconds(2), load.running]).toEqual([2, 1]);
  });
});

it("a render counts as lent only if its slot is", () => {
  const load = new CallerLoad<never>(0);
  load.admit(0);
  const end = load.admit(0, true);
  expect([load.running, load.lent]).toEqual([2, 1]);
  end(1);
  expect([load.running, load.lent]).toEqual([1, 0]);
});

describe("a caller was active", () => {
  it("until some time after its last request or the end of its last render", () => {
    const load = new CallerLoad<never>(0);
    expect([15, 15.1].map((time) => load.wasActiveWithin(15, time))).toEqual([true, false]);
    load.admit(20)(22);
    expect([37, 37.1].map((time) => load.wasActiveWithin(15, time))).toEqual([true, false]);
    load.markActive(40);
    expect([55, 55.1].map((time) => load.wasActiveWithin(15, time))).toEqual([true, false]);
  });

  it("for as long as one of its requests waits or renders", () => {
    const load = new CallerLoad<string>(0);
    load.waiting.add("request");
    expect(load.wasActiveWithin(15, 100)).toBe(true);
    load.waiting.clear();
    expect(load.wasActiveWithin(15, 100)).toBe(false);
    load.admit(0);
    expect(load.wasActiveWithin(15, 100)).toBe(true);
  });
});

describe("the expected length of a caller's renders", () => {
  it("is unknown before the first has ended", () => {
    const load = new CallerLoad<never>(0);
    load.admit(0);
    expect(load.expectedSeconds(5)).toBe(Number.POSITIVE_INFINITY);
    expect([7, 3].map((unknown) => load.expectedSeconds(5, unknown))).toEqual([7, 5]);
  });

  it("is at least as long as the longest that runs", () => {
    const load = new CallerLoad<never>(0);
    load.admit(0)(1);
    load.admit(10);
    load.admit(12);
    expect(load.expectedSeconds(13)).toBe(3);
  });

  it("does not fall by a render that was stopped", () => {
    const load = new CallerLoad<never>(0);
    load.admit(0, true)(0.1, true);
    expect(load.expectedSeconds(1)).toBe(Number.POSITIVE_INFINITY);
    load.admit(1)(11);
    for (let count = 0; count < 100; count++) load.admit(11, true)(11.1, true);
    expect(load.expectedSeconds(12)).toBe(10);
    load.admit(12, true)(27, true);
    expect(load.expectedSeconds(27)).toBeCloseTo(11);
  });

  it("rises quickly and falls slowly", () => {
    const load = new CallerLoad<never>(0);
    load.admit(0)(1);
    load.admit(1)(12);
    expect(load.expectedSeconds(12)).toBeCloseTo(3);
    load.admit(12)(13);
    expect(load.expectedSeconds(13)).toBeCloseTo(2.9);
  });
});
