/**
 * What an isolate may hold at most. Cloudflare ends one that takes more than 128 MB, with every request in it, so the
 * bounds are added up here, and a test compares the sum. On a host of your own, only the bodies are bounded.
 */

import { MAX_UPLOADS } from "../../body/read-body.ts";

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

/** developers.cloudflare.com/workers/platform/limits */
export const ISOLATE_BYTES = 128_000_000;

/** All bodies together: less, and an upload that sends nothing would hold up the largest body of its caller. */
export const MAX_BODY_BYTES_IN_ISOLATE = 64 * MEBIBYTE;
/** A larger one would need more beside it while it grows. */
export const LARGEST_BODY_BYTES_IN_ISOLATE = 32 * MEBIBYTE;

/** The metrics of all backends together, and their capabilities. */
export const MAX_GATHERED_BYTES = 4 * MEBIBYTE;

/** A body is read into a buffer of this size at first, and into a large one if there is a place for that. */
export const FIRST_READ_BYTES = 4 * KIBIBYTE;
export const READ_BYTES = 64 * KIBIBYTE;
export const MAX_LARGE_READS = 64;

export const BOUNDS_OF_ISOLATE = {
  bodies: MAX_BODY_BYTES_IN_ISOLATE,
  /** While the memory of a body doubles, the old one is there beside it: at most half of the largest. */
  growth: 16 * MEBIBYTE,
  reads: MAX_LARGE_READS * READ_BYTES + MAX_UPLOADS * FIRST_READ_BYTES,
  /** Twice: as they came, and merged. */
  metrics: 2 * MAX_GATHERED_BYTES,
  capabilities: 2 * MAX_GATHERED_BYTES,
  /** Code, and heap of an edge at rest. */
  rest: 8 * MEBIBYTE,
  /** 2 KiB for each open render, at the default of `SERVICE_MAX_OPEN_RENDERS`. */
  renders: 4096 * 2 * KIBIBYTE,
} as const;
