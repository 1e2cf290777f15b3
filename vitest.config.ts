/**
 * The tests: `rules` are pure functions, `node` starts programs and services, and `workerd` runs the edge inside
 * workerd.
 */
import { availableParallelism } from "node:os";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { API_TOKEN, BACKEND_TOKEN, UNREACHABLE_URL } from "./test/support/tokens.ts";

/**
 * `npm run mutation` runs each test hundreds of times, until one fails. It runs quick files first, and takes what does
 * not come within a minute for something that never comes.
 */
const isMutation = process.env.TESTS_OF_MUTATIONS !== undefined;

/**
 * No measure of speed: it ends what hangs. The longest test takes some seconds, on a machine with forty others some
 * minutes.
 */
const TEST_TIMEOUT_MILLISECONDS = 900_000;
/** What is waited for comes much sooner, but for a machine that is busy with something else. */
const POLL_TIMEOUT_MILLISECONDS = isMutation ? 60_000 : 300_000;

/** More than cores where those are few: most tests wait for other processes, for deadlines or for the disk. */
const MAX_WORKERS = Math.max(6, availableParallelism());

// The plugin for workerd would warn of each required secret: it does not see that `miniflare.bindings` has them. What
// wrangler itself has to say of its configuration is a test: test/service/deploy/wrangler.test.ts.
process.env.WRANGLER_LOG ??= "error";
// It would leave a log file of each run in the user's home.
process.env.WRANGLER_WRITE_LOGS ??= "false";

class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).reverse();
  }
}

export default defineConfig({
  test: {
    ...(isMutation && { sequence: { sequencer: QuickestFirst } }),
    // The service logs what the tests make it do; of a test that passes, nobody reads that.
    silent: "passed-only",
    reporters: [
      "default",
      ...(process.env.GITHUB_ACTIONS ? ["github-actions"] : []),
      "./test/failed-and-skipped-tests.ts",
    ],
    maxWorkers: MAX_WORKERS,
    testTimeout: TEST_TIMEOUT_MILLISECONDS,
    hookTimeout: TEST_TIMEOUT_MILLISECONDS,
    expect: { poll: { timeout: POLL_TIMEOUT_MILLISECONDS } },
    projects: [
      {
        extends: true,
        test: {
          name: "rules",
          include: ["test/{clients/data-schema,clients/playground,clients/template,protocol,rules}/**/*.test.ts"],
          globalSetup: "./test/provide-typst.ts",
          // What they test keeps no state, so that no file needs its own process.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: "node",
          // A process per file would load the same modules a hundred times. Each file ends what it starts and puts back
          // what it changes.
          isolate: false,
          include: [
            "test/{architecture,backend,clients/command-line,clients/document,clients/typescript,clients/python,clients/e-invoice,edge/platform/node,scripts,service,typst}/**/*.test.ts",
          ],
          globalSetup: [
            "./test/provide-typst.ts",
            "./test/provide-command-line.ts",
            "./test/provide-static-files.ts",
            "./test/provide-services.ts",
          ],
        },
      },
      {
        extends: true,
        plugins: [
          cloudflareTest({
            main: "./test/edge/worker.ts",
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              durableObjects: { TEST_OBJECTS: "TestObject" },
              analyticsEngineDatasets: { EDGE_ANALYTICS: { dataset: "requests" } },
              bindings: {
                SERVICE_API_TOKENS: API_TOKEN,
                SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
                SERVICE_BACKEND_URLS: UNREACHABLE_URL,
                SERVICE_LOG_REQUESTS: "none",
              },
              // Under a name that the Worker does not know: only its own tests are limited.
              ratelimits: { TEST_RATE_LIMITER: { namespace_id: "1", simple: { limit: 3, period: 60 } } },
            },
          }),
        ],
        test: {
          name: "workerd",
          globalSetup: "./test/provide-static-files.ts",
          include: ["test/edge/**/*.test.ts"],
          exclude: ["test/edge/platform/node/**"],
          // Each file puts back what it stubs, so that one workerd loads the edge once for all of them.
          isolate: false,
        },
      },
    ],
  },
});
