// Tells `cloudflare:workers` which Worker is under test, and which bindings vitest.config.ts adds.
declare namespace Cloudflare {
  interface Env {
    TEST_RATE_LIMITER: RateLimit;
    TEST_OBJECTS: DurableObjectNamespace;
  }
  interface GlobalProps {
    mainModule: typeof import("./worker.ts");
  }
}
