/**
 * Writes a body to a backend, and says what of it a connection has taken.
 *
 * A write resolves when workerd has buffered it, which it also does before there is a connection. So a resolved write
 * proves nothing by itself. But workerd buffers no more than the two limits below say; whatever was written before that
 * is in a connection.
 */

/** No larger: it is known for each chunk that it was taken. */
const CHUNK_BYTES = 256 * 1024;
/**
 * How many writes workerd buffers without a connection, however small they are: measured on workerd 1.20261102 with a
 * listener whose queue was full, and tested by test/service/edge/attempts.test.ts.
 */
const BUFFERED_WRITES = 3;
/** More than workerd buffers: 64 KiB and about 12 KiB behind it (measured in the same way). */
const BUFFERED_BYTES = 128 * 1024;

/** What of a body a connection is certain to have taken: something of it, or all but the last three bytes. */
export type TakenPart = "some" | "all";

/** Rejects when a write fails, so when the connection breaks. */
export async function sendBody(
  writer: Pick<WritableStreamDefaultWriter<Uint8Array>, "write" | "close">,
  body: Uint8Array<ArrayBuffer>,
  reportTaken: (part: TakenPart) => void,
): Promise<void> {
  const end = Math.max(0, body.length - BUFFERED_WRITES);
  let isSomeTaken = false;
  for (let at = 0; at < end; at += CHUNK_BYTES) {
    await writer.write(body.subarray(at, Math.min(end, at + CHUNK_BYTES)));
    if (isSomeTaken || Math.min(end, at + CHUNK_BYTES) <= BUFFERED_BYTES) continue;
    isSomeTaken = true;
    reportTaken("some");
  }
  // One byte each: the last of these writes is buffered only when a connection has taken what comes before them.
  const last = Array.from(body.subarray(end), (_byte, index) =>
    writer.write(body.subarray(end + index, end + index + 1)),
  );
  await Promise.all(last);
  reportTaken("all");
  await writer.close();
}
