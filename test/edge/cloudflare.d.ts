// Tells `cloudflare:workers` which Worker is under test, and which binding vitest.config.ts adds.
declare namespace Cloudflare {
  interface Env {
    TEST_RATE_LIMITER: RateLimit;
  }
  interface GlobalProps {
    mainModule: typeof import("../../edge/worker.ts");
  }
}
