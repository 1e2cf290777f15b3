/**
 * One read from a stream, with a timeout.
 */

/** What `reading` resolves to, or "late" if it takes too long: its reader is then still reading and must not be used again. */
export async function readInTime<Reading>(reading: Promise<Reading>, milliseconds: number): Promise<Reading | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, Math.max(0, milliseconds), "late");
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
