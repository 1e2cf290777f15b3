/** Asks a worker of its own one question: it ends with its answer, which is `fallback` if it cannot be loaded. */
export function askWorker<Answer>(path: string, question: unknown, fallback: Answer): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const worker = new Worker(path, { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => resolve(data));
  worker.addEventListener("error", () => resolve(fallback));
  worker.postMessage(question);
  return promise.finally(() => worker.terminate());
}
