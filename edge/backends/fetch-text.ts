/** Fetches a small document from a backend, bounded in size and time. */
import { inTime } from "../clock.ts";
import type { Backend } from "./backend.ts";

export interface FetchBounds {
  readonly maxBytes: number;
  readonly timeoutMilliseconds: number;
}

export async function fetchText(
  backend: Backend,
  path: string,
  { maxBytes, timeoutMilliseconds }: FetchBounds,
): Promise<string | null> {
  const deadline = Date.now() + timeoutMilliseconds;
  try {
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    const response = await backend.fetch(path, { signal, redirect: "manual" });
    const text = response.body === null ? "" : await readText(response.body, maxBytes, deadline);
    return response.ok ? text : null;
  } catch {
    return null;
  }
}

/** The text of a body; null if it is longer than `maxBytes` or late. In that case the rest is not read. */
export async function readText(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  deadline: number,
): Promise<string | null> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const reading = await inTime(reader.read(), deadline - Date.now());
    if (reading === "late") break;
    if (reading.done) return text + decoder.decode();
    size += reading.value.length;
    if (size > maxBytes) break;
    text += decoder.decode(reading.value, { stream: true });
  }
  await reader.cancel();
  return null;
}
