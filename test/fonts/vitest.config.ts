/**
 * The test of the fonts of `npm run fonts`: `npm run test:fonts`. Apart from `npm test`, because it downloads 79 MB.
 */
import { defineConfig } from "vitest/config";

const TEST_TIMEOUT_MILLISECONDS = 600_000;

export default defineConfig({
  test: {
    name: "fonts",
    include: ["test/fonts/**/*.test.ts"],
    globalSetup: "./test/provide-typst.ts",
    testTimeout: TEST_TIMEOUT_MILLISECONDS,
    hookTimeout: TEST_TIMEOUT_MILLISECONDS,
  },
});
