/** A reporter for vitest: at the end, it names the tests that were skipped because this machine lacks something. */
import type { Reporter, TestModule, Vitest } from "vitest/node";

export default class SkippedTests implements Reporter {
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // With -t, tests of other names count as skipped as well.
    if (this.#isFiltered) return;
    const skipped = modules.flatMap(({ relativeModuleId, children }) =>
      Array.from(children.allTests("skipped"), ({ fullName }) => `  ${relativeModuleId}: ${fullName}\n`),
    );
    if (skipped.length > 0) process.stdout.write(`Skipped on this machine:\n${skipped.join("")}`);
  }
}
