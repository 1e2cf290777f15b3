/**
 * A reporter for vitest: says why a test failed as soon as it has failed, and at the end names the tests that were
 * skipped because this machine lacks something.
 */
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/** Vitest prints each error whole at the end. */
const MAX_EARLY_ERROR_CHARACTERS = 2000;

export default class FailedAndSkippedTests implements Reporter {
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state !== "failed") return;
    const reasons = errors.map(({ stack, message }) => (stack ?? message).slice(0, MAX_EARLY_ERROR_CHARACTERS));
    process.stdout.write(`FAILED ${test.module.relativeModuleId}: ${test.fullName}\n${reasons.join("\n")}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // With -t, tests of other names count as skipped as well.
    if (this.#isFiltered) return;
    const skipped = modules.flatMap((module) =>
      skippedIn(module).map((name) => `  ${module.relativeModuleId}: ${name}\n`),
    );
    if (skipped.length > 0) process.stdout.write(`Skipped on this machine:\n${skipped.join("")}`);
  }
}

/** The names of the skipped tests. A group that was skipped as a whole is one entry, with the number of its tests. */
function skippedIn({ children }: TestModule | TestSuite): string[] {
  return children.array().flatMap((child) => {
    if (child.type === "test") return child.result().state === "skipped" ? [child.fullName] : [];
    const { length: count } = [...child.children.allTests()];
    const { length: skippedCount } = [...child.children.allTests("skipped")];
    return skippedCount === count && count > 1 ? [`${child.fullName} (${count} tests)`] : skippedIn(child);
  });
}
