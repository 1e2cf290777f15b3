/** The suites of `npm run test:long` that vitest runs: apart from `npm test`, because they download much and need Java, Maven, Go and PyPI. */
import { defineConfig } from "vitest/config";

const TEST_TIMEOUT_MILLISECONDS = 3_600_000;

export default defineConfig({
  test: {
    name: "long",
    include: ["test/long/**/*.test.ts"],
    globalSetup: "./test/provide-typst.ts",
    // Maven downloads for one at a time.
    fileParallelism: false,
    testTimeout: TEST_TIMEOUT_MILLISECONDS,
    hookTimeout: TEST_TIMEOUT_MILLISECONDS,
  },
});
