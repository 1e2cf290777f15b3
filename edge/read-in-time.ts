/**
 * One read from a stream, with a timeout.
 */

/** What `reading` gives, or "late" where nothing came in time. After that the reader still waits: use it no more. */
export async function readInTime<Reading>(reading: Promise<Reading>, milliseconds: number): Promise<Reading | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, Math.max(0, milliseconds), "late");
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
