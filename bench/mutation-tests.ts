/**
 * The part of vitest that the tests of `rules/` use, so that one process can run them many times: each mutant is switched on
 * in turn, and only the tests that reach it are run, up to the first that fails. Starting vitest for each of
 * two thousand mutants would take hours (measured with Stryker's own runner: 12 mutants a minute).
 */
export { expect } from "vitest";

type Run = (...values: unknown[]) => unknown;
type Table = readonly unknown[];

export interface RegisteredTest {
  readonly name: string;
  readonly run: () => unknown;
}

export const TESTS: RegisteredTest[] = [];
let prefix = "";

const valuesOf = (row: unknown): unknown[] => (Array.isArray(row) ? row : [row]);

function register(name: string, run: () => unknown): void {
  TESTS.push({ name: `${prefix}${name}`, run });
}

export const it = Object.assign((name: string, run: Run) => register(name, () => run()), {
  each: (table: Table) => (name: string, run: Run) => {
    for (const [index, row] of table.entries()) register(`${name} #${index}`, () => run(...valuesOf(row)));
  },
});

function group(name: string, body: () => unknown): void {
  const outer = prefix;
  prefix = `${outer}${name} > `;
  body();
  prefix = outer;
}

export const describe = Object.assign(group, {
  each: (table: Table) => (name: string, body: Run) => {
    for (const [index, row] of table.entries()) group(`${name} #${index}`, () => body(...valuesOf(row)));
  },
});
