/** A download within bounds of time and size. */

/**
 * @typedef {object} DownloadLimits
 * @property {number} answerMilliseconds until the answer begins: some networks drop what they do not let through
 * @property {number} downloadMilliseconds until the whole body has arrived
 * @property {number} maxBytes
 */

/**
 * @param {string | URL} url @param {DownloadLimits} limits @param {RequestInit} [request] its signal abandons it
 * @returns {Promise<{ content: Buffer } | { reason: string }>} the reason why there is none
 */
export async function download(url, { answerMilliseconds, downloadMilliseconds, maxBytes }, request = {}) {
  const { signal } = request;
  signal?.throwIfAborted();
  const controller = new AbortController();
  const stop = () => controller.abort();
  signal?.addEventListener("abort", stop, { once: true });
  let timer = setTimeout(stop, answerMilliseconds);
  try {
    const response = await fetch(url, { ...request, signal: controller.signal });
    if (response.status !== 200) return { reason: `HTTP ${response.status}` };
    clearTimeout(timer);
    timer = setTimeout(stop, downloadMilliseconds);
    const chunks = [];
    let sizeBytes = 0;
    for await (const chunk of response.body ?? []) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBytes) return { reason: `more than ${maxBytes} bytes` };
      chunks.push(chunk);
    }
    return { content: Buffer.concat(chunks) };
  } catch (error) {
    signal?.throwIfAborted();
    if (controller.signal.aborted) return { reason: "it takes too long" };
    // fetch itself says only "fetch failed"; the system's code is in the cause.
    const { message, cause } = /** @type {Error & { cause?: NodeJS.ErrnoException }} */ (error);
    return { reason: cause?.code ?? cause?.message ?? message };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    // Closes the connection if the body was not read.
    controller.abort();
  }
}
