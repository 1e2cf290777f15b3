// Tells `exports` of `cloudflare:workers` which Worker is under test.
declare namespace Cloudflare {
  interface GlobalProps {
    mainModule: typeof import("../../edge/worker.ts");
  }
}
