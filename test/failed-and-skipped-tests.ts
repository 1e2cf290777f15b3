/**
 * A reporter for vitest: says why a test, a hook or a file failed as soon as it fails, and at the end names the tests
 * that were skipped because this machine lacks something.
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
    if (state === "failed") report(`${test.module.relativeModuleId}: ${test.fullName}`, errors);
  }

  onTestSuiteResult(suite: TestSuite): void {
    report(`${suite.module.relativeModuleId}: ${suite.fullName}`, suite.errors());
  }

  onTestModuleEnd(module: TestModule): void {
    report(module.relativeModuleId, module.errors());
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

/** Of a group or a file, these are the errors of its hooks, or that it does not load: its tests have their own. */
function report(name: string, errors: readonly { readonly stack?: string; readonly message: string }[]): void {
  if (errors.length === 0) return;
  const reasons = errors.map(({ stack, message }) => (stack ?? message).slice(0, MAX_EARLY_ERROR_CHARACTERS));
  process.stdout.write(`FAILED ${name}\n${reasons.join("\n")}\n`);
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
