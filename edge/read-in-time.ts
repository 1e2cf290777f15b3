/**
 * One read from a stream, with a timeout.
 */

/** The next chunk, or "late" when none came in time: the reader is then still waiting and must not be used again. */
export async function readInTime(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  milliseconds: number,
): Promise<ReadableStreamReadResult<Uint8Array> | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, Math.max(0, milliseconds), "late");
  try {
    return await Promise.race([reader.read(), late]);
  } finally {
    clearTimeout(timer);
  }
}
