/**
 * The tests of `rules/` as they are run for each mutant: quick ones only, properties tried a fraction as often and always
 * on the same samples.
 */
import { defineConfig } from "vitest/config";

const PROPERTY_RUNS_DIVISOR = "25";

export default defineConfig({
  test: {
    include: ["test/rules/*.test.ts"],
    // The first asks Typst, the second an installed Python, the third counts what mutants do not change.
    exclude: ["test/rules/{typst-reads-json,key-pattern-elsewhere,work-of-validation}.test.ts"],
    setupFiles: ["bench/mutation-setup.ts"],
    env: { PROPERTY_RUNS_DIVISOR },
  },
});
