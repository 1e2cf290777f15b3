/** The tests in a real browser: `npm run test:browser`. Apart from `npm test`, because they need a Chromium. */
import { defineConfig } from "vitest/config";

/** Only ends tests that hang: on a busy machine with one core, a test takes some seconds, at times a minute. */
const TEST_TIMEOUT_MILLISECONDS = 300_000;
const POLL_TIMEOUT_MILLISECONDS = 60_000;

export default defineConfig({
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    // pdf.js warns that it has no canvas, which nothing here draws on.
    silent: "passed-only",
    globalSetup: ["./test/provide-typst.ts", "./test/browser/provide-chromium.ts"],
    // A browser alone uses all cores.
    maxWorkers: 1,
    testTimeout: TEST_TIMEOUT_MILLISECONDS,
    hookTimeout: TEST_TIMEOUT_MILLISECONDS,
    expect: { poll: { timeout: POLL_TIMEOUT_MILLISECONDS } },
  },
});
