/**
 * The work that a hostile body can cause: bytes read and memory allocated, counted, not timed. Both may only grow in
 * proportion to the body.
 */
import { getHeapStatistics } from "node:v8";
import { describe, expect, it } from "vitest";
import { parseRenderRequest } from "../../rules/render-request.ts";
import { bodyOf } from "../support/rules/bodies.ts";
import { HOSTILE_BODIES } from "../support/rules/hostile-bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";

/** As many files as the rules allow, because the set rules look at all of them. */
const LIMITS = limitsWith({ max_inline_files: 1024 });

/** Most shapes take 1 to 4: passes for the grammar, UTF-8, what is decoded, and the paths of errors. */
const MAX_READS_PER_BYTE = 12;
/** Error lists of a short body's many errors take up to 80. The string of 309 digits for `1e308` took 1600. */
const MAX_ALLOCATED_BYTES_PER_BYTE = 250;
/** How much the reads per byte may grow when the body is eight times as long. */
const MAX_GROWTH = 1.5;

/** Reads of single bytes. */
function countReads(text: string): { reads: number; size: number } {
  const bytes = bodyOf(text);
  let reads = 0;
  const body = new Proxy(bytes, {
    get(target, name) {
      if (typeof name === "string" && name.charCodeAt(0) <= 0x39) reads++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  parseRenderRequest(body, LIMITS);
  return { reads, size: bytes.length };
}

/** The bytes that one validation allocates on V8's heap: the least of several runs, because compiling allocates too. */
function countAllocated(body: Uint8Array): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 5; run++) {
    const before = allocatedBytes();
    parseRenderRequest(body, LIMITS);
    least = Math.min(least, allocatedBytes() - before);
  }
  return least;
}

function allocatedBytes(): number {
  const statistics: unknown = getHeapStatistics();
  const { total_allocated_bytes: bytes } = statistics as { total_allocated_bytes?: number };
  if (bytes === undefined) throw new Error("this Node does not count what it allocates");
  return bytes;
}

describe.each(HOSTILE_BODIES)("the validation of $name", ({ make }) => {
  it("reads each byte a bounded number of times, however long the body", () => {
    const [small, large] = [countReads(make(2500)), countReads(make(20_000))];
    expect(large.reads / large.size).toBeLessThanOrEqual(MAX_READS_PER_BYTE);
    expect(large.reads / large.size).toBeLessThanOrEqual(MAX_GROWTH * (small.reads / small.size) + 1);
  });

  it("allocates a bounded amount for each byte, however long the body", () => {
    for (const bytes of [10_000, 80_000]) {
      const body = bodyOf(make(bytes));
      expect(countAllocated(body) / body.length).toBeLessThanOrEqual(MAX_ALLOCATED_BYTES_PER_BYTE);
    }
  });
});

it("the counters see what the validator reads and allocates", () => {
  const body = JSON.stringify({ source: "x", data: Array(500).fill(" a\n") });
  const { reads, size } = countReads(body);
  expect(reads).toBeGreaterThanOrEqual(size);
  expect(countAllocated(bodyOf(body))).toBeGreaterThan(0);
});
