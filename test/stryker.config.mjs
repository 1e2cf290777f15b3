/** `npm run mutation [-- --mutate 'edge/*.ts']`: Stryker changes code, and a test should fail. It adds up in out/. */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  // Tests in workerd do not import the code that they test.
  vitest: { related: false, pool: "forks" },
  mutate: [
    "{rules,protocol,edge}/**/*.ts",
    "backend/{admission,http,render,sandbox}/*.ts",
    "typst/{archive-layout,compile-verdict}.ts",
    // Types, published texts, and code that only tests of another folder run.
    "!**/*.d.ts",
    "!rules/{conformance-vectors,constraints}.ts",
    "!edge/platform/{cloudflare/worker-with-containers,node/main}.ts",
  ],
  // Ids are typed as unions, so the compiler finds wrong ones. The other strings are prose.
  mutator: { plugins: null, excludedMutations: ["StringLiteral"] },
  // Not those that run Python, count work or wait for minutes: a change that survives runs all that reach it.
  testFiles: [
    "test/{rules,protocol,edge}/**/!(conformance-vectors|work-of-validation|vectors-catch-mistakes).test.ts",
    "test/{backend/{admission,http,render,sandbox},typst}/*.test.ts",
    "test/backend/over-http/!(waiting-text).test.ts",
    "test/backend/compiler/warm-starts.test.ts",
  ],
  coverageAnalysis: "perTest",
  // Code that runs once when a file is loaded: other tests compare the tables there with the published documents.
  ignoreStatic: true,
  disableTypeChecks: false,
  // Stryker would read it through an interface that TypeScript 7 does not have.
  tsconfigFile: "none",
  tempDirName: "out/mutation",
  incremental: true,
  incrementalFile: "out/mutation-results.json",
  concurrency: 2,
  timeoutMS: 120_000,
  dryRunTimeoutMinutes: 30,
  reporters: ["progress-append-only", "clear-text"],
  thresholds: { high: 95, low: 90, break: null },
  allowEmpty: true,
};
