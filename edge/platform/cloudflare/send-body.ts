/** Writes a body into a stream of workerd so that its progress is known: the connection itself tells nothing. */
import type { TakenPart } from "../platform.ts";

/** The edge learns of a chunk as a whole that a connection has taken it, so chunks are small. */
const CHUNK_BYTES = 256 * 1024;
/**
 * workerd accepts up to three writes before it has a connection, however small they are. So a write counts as taken only
 * when the third write after it has resolved (test/service/edge/attempts.test.ts).
 */
const BUFFERED_WRITES = 3;
/** More than workerd buffers: 64 KiB and about 12 KiB behind it. */
const BUFFERED_BYTES = 128 * 1024;

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
