/** Small documents of backends: how much of one is read, and for how long. */
import { expect, it, vi } from "vitest";
import { fetchText, readText } from "../../../edge/backends/fetch-text.ts";

const BOUNDS = { maxBytes: 4, timeoutMilliseconds: 60_000 };

const fetchFrom = (answer: () => Response | Promise<Response>, bounds = BOUNDS) =>
  fetchText({ name: "a", fetch: async () => answer() }, "/metrics", bounds);

/** A body of these chunks, which goes on for ever if it is endless. */
function bodyOf(chunks: readonly Uint8Array[], isEndless = false) {
  const cancel = vi.fn();
  const rest = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (!isEndless) controller.close();
    },
    cancel,
  });
  return { body, cancel };
}

const bytes = (text: string) => new TextEncoder().encode(text);

it("a document is requested at its path, without following redirects, and within its time limit", async () => {
  const fetch = vi.fn(async (_path: string, _init: RequestInit) => new Response("text"));
  const timeout = vi.spyOn(AbortSignal, "timeout");
  expect(await fetchText({ name: "a", fetch }, "/metrics", BOUNDS)).toBe("text");
  const signal: unknown = timeout.mock.results[0]?.value;
  expect(fetch.mock.calls).toEqual([["/metrics", { redirect: "manual", signal }]]);
  expect(timeout).toHaveBeenCalledWith(60_000);
  timeout.mockRestore();
});

it.each([
  ["without a body", () => new Response(null), ""],
  ["of as many bytes as are allowed", () => new Response("abcd"), "abcd"],
  ["of one byte more", () => new Response("abcde"), null],
  ["with the status of a failure", () => new Response("abcd", { status: 503 }), null],
  ["that does not come", () => Promise.reject(new Error("connection refused")), null],
])("a document %s", async (_what, answer, text) => {
  expect(await fetchFrom(answer)).toBe(text);
});

it("characters may be split between chunks, and an incomplete one is replaced", async () => {
  const [first, second] = [bytes("é").slice(0, 1), bytes("é").slice(1)];
  expect(await fetchFrom(() => new Response(bodyOf([first, second]).body))).toBe("é");
  expect(await fetchFrom(() => new Response(bodyOf([bytes("a"), first]).body))).toBe("a\uFFFD");
});

it("a body that is too long or too slow is not read to the end", async () => {
  const long = bodyOf([bytes("ab"), bytes("cde")], true);
  expect(await readText(long.body, 4, Date.now() + 60_000)).toBeNull();
  expect(long.cancel).toHaveBeenCalledOnce();
  const slow = bodyOf([bytes("ab")], true);
  expect(await readText(slow.body, 4, Date.now() + 10)).toBeNull();
  expect(slow.cancel).toHaveBeenCalledOnce();
});
