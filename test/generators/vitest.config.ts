/**
 * `npm run test:generators`: clients that others' generators make from the interface description. Apart from `npm test`,
 * because it needs Java, Maven, Go, Python and the package indexes of each.
 */
import { defineConfig } from "vitest/config";

const TEST_TIMEOUT_MILLISECONDS = 3_600_000;

export default defineConfig({
  test: {
    name: "generators",
    include: ["test/generators/**/*.test.ts"],
    globalSetup: "./test/provide-typst.ts",
    testTimeout: TEST_TIMEOUT_MILLISECONDS,
    hookTimeout: TEST_TIMEOUT_MILLISECONDS,
  },
});
