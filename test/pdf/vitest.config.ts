/**
 * `npm run test:pdf`: what claims a standard, e-invoices and a signed PDF by the validators that receivers use. Apart
 * from `npm test`, because it needs Java, Maven and PyPI.
 */
import { defineConfig } from "vitest/config";

const TEST_TIMEOUT_MILLISECONDS = 3_600_000;

export default defineConfig({
  test: {
    name: "pdf",
    include: ["test/pdf/**/*.test.ts"],
    globalSetup: "./test/provide-typst.ts",
    // Maven downloads for one at a time.
    fileParallelism: false,
    testTimeout: TEST_TIMEOUT_MILLISECONDS,
    hookTimeout: TEST_TIMEOUT_MILLISECONDS,
  },
});
