/** Memory and temporary space as byte budgets that callers share. */
import { describe, expect, it } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";

describe("a budget of bytes", () => {
  it("gives a caller all but the maximum of one request of another caller", () => {
    const budget = new ByteBudget(100, 30);
    const [first, second, other] = [budget.open("a"), budget.open("a"), budget.open("b")];
    expect(first.resize(40)).toBe(true);
    expect(second.resize(31)).toBe(false);
    expect(second.resize(30)).toBe(true);
    expect(other.resize(31)).toBe(false);
    expect(other.resize(30)).toBe(true);
    expect([budget.reservedBytes, budget.holders]).toEqual([100, 2]);
    first.release();
    first.release();
    expect(first.resize(1)).toBe(false);
    expect(budget.reservedBytes).toBe(60);
    second.release();
    other.release();
    expect([budget.reservedBytes, budget.holders]).toEqual([0, 0]);
  });

  it("says whether it is a caller's own share that leaves no room", () => {
    const budget = new ByteBudget(100, 30);
    const [own, another] = [budget.open("a"), budget.open("a")];
    expect([own.resize(20), another.resize(10)]).toEqual([true, true]);
    expect([own.isOverShare(60), own.isOverShare(61)]).toEqual([false, true]);
    const others = [budget.open("b"), budget.open("c")];
    for (const other of others) expect(other.resize(30)).toBe(true);
    expect([own.resize(60), own.isOverShare(60)]).toEqual([false, false]);
  });

  it("has room for one request, however small the budget is", () => {
    const budget = new ByteBudget(40, 30);
    expect(budget.open("a").resize(30)).toBe(true);
  });
});
